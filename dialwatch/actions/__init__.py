"""The work of each command, once its options are read; loads what `dialwatch.commands` must not."""
