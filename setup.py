"""What pyproject.toml cannot say: the compiled solver is plain C behind ctypes, with no Python header
in it, so one wheel serves every Python 3 of a platform."""

import os

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext


class AnyPython(bdist_wheel):
    """A wheel that is tagged py3-none-PLATFORM."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class PlainLibrary(build_ext):
    """A library without a Python version in its name and without an entry for Python."""

    def get_ext_filename(self, fullname):
        return os.path.join(*fullname.split(".")) + (".pyd" if os.name == "nt" else ".so")

    def get_export_symbols(self, ext):
        return ["bers_weights"]


setup(cmdclass={"bdist_wheel": AnyPython, "build_ext": PlainLibrary})
