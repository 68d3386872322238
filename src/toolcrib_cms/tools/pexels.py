"""Pexels: free stock photos, searched there and taken into the library with their credit."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError
from sqlalchemy import select

from toolcrib.sources import Web, WebLimits
from toolcrib_cms.content.slugs import slug_of
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.media.library import MOST_BYTES, Picture, ending
from toolcrib_cms.rows import image_details
from toolcrib_cms.services import Services, ask_json, not_configured
from toolcrib_cms.storage.columns import new_id
from toolcrib_cms.storage.models import Image
from toolcrib_cms.store import SiteStore
from toolcrib_cms.tools.arguments import AltText, Row


class _Photo(BaseModel):
    id: int
    width: int = 0
    height: int = 0
    url: str = ""  # its page on Pexels
    photographer: str = ""
    alt: str = ""
    src: dict[str, str] = {}

    def row(self) -> Row:
        return {
            "photoId": self.id,
            "description": self.alt or "without description",
            "photographer": self.photographer,
            "size": f"{self.width}x{self.height}",
            "page": self.url,
            "preview": self.src.get("medium", ""),
        }


class _Photos(BaseModel):
    photos: list[_Photo]
    total_results: int = 0


class PexelsTools:
    """The tools of the category `pexels`."""

    def __init__(self, store: SiteStore, web: Web, services: Services) -> None:
        self._store = store
        self._web = web
        self._services = services

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (self.pexels_searchPhotos, self.pexels_downloadPhoto)

    async def pexels_searchPhotos(
        self,
        query: Annotated[str, Field(description="What the photo should show", min_length=1, max_length=200)],
        orientation: Annotated[
            Literal["landscape", "portrait", "square"] | None, Field(description="Shape of the photo")
        ] = None,
        color: Annotated[str | None, Field(description="Main colour, a name or #rrggbb")] = None,
        perPage: Annotated[int, Field(description="How many to return", ge=1, le=80)] = 15,
    ) -> Row:
        """Search Pexels for free stock photos and return previews with the photographer's name."""
        wanted = {"query": query, "orientation": orientation, "color": color, "per_page": perPage}
        params = {name: value for name, value in wanted.items() if value is not None}
        reply = await self._ask("/v1/search", params)
        try:
            found = _Photos.model_validate(reply)
        except ValidationError:
            raise _strange() from None
        return {"photos": [photo.row() for photo in found.photos], "total": found.total_results, "source": "Pexels"}

    async def pexels_downloadPhoto(
        self,
        photoId: Annotated[int, Field(description="Number of the photo on Pexels", ge=1)],
        alt: AltText | None = None,
        size: Annotated[Literal["medium", "large", "original"], Field(description="Which size to fetch")] = "large",
    ) -> Row:
        """Download a Pexels stock photo into the media library, with credit to the photographer."""
        try:
            photo = _Photo.model_validate(await self._ask(f"/v1/photos/{photoId}", {}))
            address = photo.src["large2x" if size == "large" and "large2x" in photo.src else size]
        except (ValidationError, KeyError):
            raise _strange() from None
        answer = await self._web.fetch(address, limits=WebLimits(seconds=60, body_bytes=MOST_BYTES))
        if answer.status >= 400 or answer.cut:
            raise RefusalError(
                "The photo could not be downloaded.", hint='Try size "medium", or another photo. Nothing was saved.'
            )
        picture = await asyncio.to_thread(Picture.read, answer.body)
        return await asyncio.to_thread(self._keep, photo, picture, alt)

    async def _ask(self, path: str, params: dict[str, Any]) -> Any:
        key = self._services.pexels_key
        if not key:
            raise not_configured("Pexels", "PEXELS_API_KEY", "pexels.com/api")
        url = f"{self._services.pexels}{path}"
        return await ask_json(self._web, url, headers={"authorization": key}, params=params, service="Pexels")

    def _keep(self, photo: _Photo, picture: Picture, alt: str | None) -> Row:
        is_new_file = self._store.media.keep(picture)
        try:
            with self._store.transaction() as session:
                if held := session.scalars(select(Image).where(Image.sha256 == picture.sha256)).first():
                    return {**image_details(session, held), "summary": f"It was in the library already, as {held.id}."}
                words = alt or photo.alt or f"Photo {photo.id}"
                image = Image(
                    id=new_id("img"),
                    file_name=f"{slug_of(words)[:60].strip('-')}-{photo.id}.{ending(picture.mime)}",
                    description=photo.alt or words,
                    alt=words,
                    credit=f"Photo by {photo.photographer} on Pexels",
                    source_url=photo.url,
                    mime=picture.mime,
                    width=picture.width,
                    height=picture.height,
                    size_bytes=len(picture.data),
                    sha256=picture.sha256,
                )
                session.add(image)
                session.flush()
                return {**image_details(session, image), "summary": f"Saved as {image.id}, with credit."}
        except Exception:  # whatever it was: a file without a row must not stay
            if is_new_file:
                self._store.media.remove(picture.sha256, picture.mime)
            raise


def _strange() -> RefusalError:
    return RefusalError("Pexels answered in a form that is not known here.", hint="Try again later.")
