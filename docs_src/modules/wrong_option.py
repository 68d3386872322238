from toolcrib import ToolcribError
from toolcrib.sources import module

said = ""
try:
    module("filesystem", workdir=".", read_olny=True)
except ToolcribError as error:
    said = str(error)
assert "read_olny: there is no such option. Did you mean 'read_only'?" in said
