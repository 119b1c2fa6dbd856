"""Support bundle: what a maintainer needs to know of an installation, without a text of a person or a secret."""
