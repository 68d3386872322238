import asyncio

from toolcrib import Catalog, Toolbox, domain_surface

catalog = Catalog()


@catalog.tool(category="file")
def read_file(path: str, offset: int = 0) -> str:
    """Read a file."""
    return ""


toolbox = Toolbox(catalog, surface=domain_surface)
assert [tool.name for tool in toolbox.visible()] == ["discover_file_tools", "discover_other_tools"]


@catalog.tool(category="file")
def write_file(path: str, text: str) -> str:
    """Write a file."""
    return "written"


def ask(**arguments: object) -> str:
    return asyncio.run(toolbox.call("discover_file_tools", arguments)).text


assert ask() == (
    "2 tools:\n"
    "- read_file: Read a file\n"
    "- write_file: Write a file\n"
    'Next: discover_file_tools(tool="...") for how to use one.'
)
assert ask(tool="read_file") == "read_file(path: str, offset: int = 0): Read a file.\nCall it by name."
assert ask(tool="read_file", level=3).startswith('read_file: Read a file.\nArguments: {"')
assert [tool.name for tool in toolbox.visible()][-1] == "read_file"
