"""The commands of the command line, one file a command: their options, and the errors in their use.

Nothing here is loaded that takes long: each command imports its work, in `dialwatch.actions` or `dialwatch.services`,
once its options are in order. So help and errors in the use of a command come at once.
"""
