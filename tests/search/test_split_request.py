"""Requests for several things, taken apart; and those that must stay whole."""

import pytest
from hypothesis import given, strategies as st

from toolcrib.search.text import MAX_PARTS, split_request


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("create a page and add a mountain photo", ["create a page", "add a mountain photo"]),
        (
            "create an about page with a hero and a mountain photo",
            ["create an about page with a hero", "a mountain photo"],
        ),
        (
            "Find flights to Paris, then book a hotel near the airport and send me the itinerary",
            ["Find flights to Paris", "book a hotel near the airport", "send me the itinerary"],
        ),
        ("create the page; publish the post", ["create the page", "publish the post"]),
        ("create the page\npublish the post", ["create the page", "publish the post"]),
        (
            "Convert miles to kilometers. Check tomorrow's weather!",
            ["Convert miles to kilometers.", "Check tomorrow's weather!"],
        ),
        ("upload the photo AND THEN resize the photo", ["upload the photo", "resize the photo"]),
        ("Erstelle eine neue Seite und füge ein Bild hinzu", ["Erstelle eine neue Seite", "füge ein Bild hinzu"]),
        ("utwórz nową stronę i dodaj zdjęcie gór", ["utwórz nową stronę", "dodaj zdjęcie gór"]),
        ("usuń stary wpis, a potem opublikuj nowy szkic", ["usuń stary wpis", "opublikuj nowy szkic"]),
        ("crea una página nueva y añade una foto", ["crea una página nueva", "añade una foto"]),
        ("crée une nouvelle page et ajoute une photo", ["crée une nouvelle page", "ajoute une photo"]),
        ("crea una nuova pagina e aggiungi una foto", ["crea una nuova pagina", "aggiungi una foto"]),
        ("crie uma nova página, depois publique o artigo", ["crie uma nova página", "publique o artigo"]),
        ("maak een nieuwe pagina en daarna een foto erbij", ["maak een nieuwe pagina", "een foto erbij"]),
        ("yeni bir sayfa oluştur ve bir fotoğraf ekle", ["yeni bir sayfa oluştur", "bir fotoğraf ekle"]),
        ("создай новую страницу и добавь фотографию", ["создай новую страницу", "добавь фотографию"]),
        ("створи нову сторінку та додай фото", ["створи нову сторінку", "додай фото"]),
        ("创建一个新页面，然后添加一张山的照片", ["创建一个新页面", "添加一张山的照片"]),
        ("新建页面并发布文章", ["新建页面", "发布文章"]),
        ("帮我翻译这份合同。另外，预订明天的会议室", ["帮我翻译这份合同", "预订明天的会议室"]),
        (
            "change the check-in date to May 3 and the check-out date to May 5 and send me a confirmation",
            ["change the check-in date to May 3 and the check-out date to May 5", "send me a confirmation"],
        ),
        ("buche ein Hotelzimmer und die Bilder hochladen", ["buche ein Hotelzimmer", "die Bilder hochladen"]),
        ("회의실을 예약해 줘 그리고 3시에 알림을 보내 줘", ["회의실을 예약해 줘", "3시에 알림을 보내 줘"]),
        ("新しいページを作成して、そして写真を追加して", ["新しいページを作成して", "写真を追加して"]),
        ("ページを作成する。写真を追加する。", ["ページを作成する", "写真を追加する"]),
        (
            "새 페이지를 만들어 줘. 그리고 사진을 추가해 줘",
            ["새 페이지를 만들어 줘.", "사진을 추가해 줘"],
        ),
        ("أنشئ صفحة جديدة ثم أضف صورة جبل", ["أنشئ صفحة جديدة", "أضف صورة جبل"]),
        ("एक नया पेज बनाओ और पहाड़ की फोटो जोड़ो", ["एक नया पेज बनाओ", "पहाड़ की फोटो जोड़ो"]),
        ("skapa en ny sida och lägg till ett foto", ["skapa en ny sida", "lägg till ett foto"]),
        ("vytvoř novou stránku a potom přidej fotku", ["vytvoř novou stránku", "přidej fotku"]),
        ("tạo một trang mới và thêm ảnh núi", ["tạo một trang mới", "thêm ảnh núi"]),
        ("buat halaman baru lalu tambahkan foto gunung", ["buat halaman baru", "tambahkan foto gunung"]),
        ("สร้างหน้าใหม่และเพิ่มรูปภูเขา", ["สร้างหน้าใหม่", "เพิ่มรูปภูเขา"]),
        ("luo uusi sivu ja lisää kuva vuoresta", ["luo uusi sivu", "lisää kuva vuoresta"]),
        ("hozz létre egy új oldalt, majd adj hozzá képet", ["hozz létre egy új oldalt", "adj hozzá képet"]),
        ("δημιούργησε μια σελίδα και πρόσθεσε μια εικόνα", ["δημιούργησε μια σελίδα", "πρόσθεσε μια εικόνα"]),
    ],
)
def test_a_request_for_several_things_is_taken_apart(request_text: str, expected: list[str]) -> None:
    assert split_request(request_text) == expected


@pytest.mark.parametrize(
    "request_text",
    [
        "",
        "   ",
        "and",
        "and then and also",
        "delete the old blog post",
        "search and replace text in files",
        "find and replace",
        "drag and drop files",
        "black and white photo",
        "what is the weather in Berlin and in Paris?",
        "send an email to Bob and Alice",
        "compare prices of apples and oranges",
        "please, remove the old blog article",
        "I have a meeting at 10 a.m. tomorrow with Dr. Smith",
        "suche und ersetze Text in Dateien",
        "znajdź i zamień tekst w plikach",
        "busca y reemplaza texto en archivos",
        "rechercher et remplacer du texte",
        "cerca e sostituisci testo nei file",
        "найти и заменить текст в файлах",
        "查找并替换文本",
        "把这两个视频文件合并成一个文件",
        "给我看另外一个会议室的照片",
        "record a run of 30 minutes and 5 kilometers of distance",
        "book the blue room for my client and my two colleagues",
        "删除博客文章",
        "画像を検索する",
    ],
)
def test_one_errand_stays_whole(request_text: str) -> None:
    assert split_request(request_text) == []


def test_at_most_six_parts_are_searched() -> None:
    found = split_request(" and ".join(f"create page{number} with photo{number}" for number in range(20)))
    assert len(found) == MAX_PARTS
    assert found[0] == "create page0 with photo0"


def test_a_very_long_request_is_read_from_its_beginning() -> None:
    found = split_request("create a page and add a photo; " * 10_000)
    assert found[:2] == ["create a page", "add a photo"]


@given(st.lists(st.sampled_from(["and ", "и ", "ثم ", "然后", "page", "photo ", ", ", ". ", "；", "\ud800", "\n"])))
def test_nothing_is_invented(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert all(word in text for part in split_request(text) for word in part.split())
