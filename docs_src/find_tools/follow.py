from toolcrib import Catalog, ToolIndex, tool

catalog = Catalog()
index = ToolIndex(catalog)
assert index.search("resize a picture").reason == "There are no tools."


@tool
def resize_image(image: str, width: int) -> str:
    """Resize a picture."""
    return f"{image} is {width} pixels wide."


catalog.add(resize_image)
assert index.search("resize a picture").names == ("resize_image",)

catalog.remove("resize_image")
assert index.search("resize a picture").names == ()
index.close()  # stop following
