from toolcrib import Extraction

images = Extraction(path="data.images", type="image", name_field="title", is_array=True)

result = {"data": {"images": [{"id": 7, "title": "Mountain"}, {"title": "no id, passed over"}]}}
[image] = images(result)
assert (image.type, image.id, image.name) == ("image", "7", "Mountain")
