"""The commands of the command line, a module or a folder a group: their options, and their work.

Nothing that takes long is loaded with these modules: each function imports what it needs, once the options are in
order. So help and errors in the use of a command come at once.
"""
