"""Compiles the C code of node/ against the C interface of distros that can't be installed. See scripts/check_distros.py."""
