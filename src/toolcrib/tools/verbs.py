"""What a tool of strangers does, by the words of its name: whether it destroys, changes, or plainly reads.

Many servers give no hints, and nobody has to believe those they give. A name is no proof either; it errs on the side of
the question: only what plainly reads runs unasked.
"""

import re
import unicodedata
from enum import StrEnum


class Effect(StrEnum):
    """What the words of a name say."""

    READS = "reads"
    CHANGES = "changes"
    DESTROYS = "destroys"
    UNKNOWN = "unknown"


def effect_of(name: str) -> Effect:
    """What a tool of this name does, as far as its name tells. A verb counts wherever it stands in the name."""
    words = words_of(name)
    if any(_is_destroying(word) for word in words) or any(sign in name for sign in _DESTROYING_SIGNS):
        return Effect.DESTROYS
    reading = next((place for place, word in enumerate(words) if word in _READING), None)
    # After a reading verb these are nouns, mostly: `get_post`, `list_comment`.
    changing = (word for place, word in enumerate(words) if word not in _NOUNS or reading is None or place < reading)
    if any(word in _CHANGING for word in changing) or any(sign in name for sign in _CHANGING_SIGNS):
        return Effect.CHANGES
    if reading is not None or any(sign in name for sign in _READING_SIGNS):
        return Effect.READS
    return Effect.UNKNOWN


def words_of(name: str) -> list[str]:
    """The words of a name such as `bulkDelete_users`, in small letters without accents."""
    return [word.casefold() for word in _WORD.findall(_without_accents(name))]


def _without_accents(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))


def _listed(words: str) -> frozenset[str]:
    return frozenset(_without_accents(words).split())


def _listed_signs(signs: str) -> tuple[str, ...]:
    """Verbs that are looked for as they are: of languages without spaces, and with marks that belong to the letter."""
    return tuple(signs.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]")


def _is_destroying(word: str) -> bool:
    if word in _DESTROYING:
        return True
    # `deleteall`, but not `deleted`, which says what is listed.
    return word.startswith(_DESTROYING_STEMS) and not word.endswith(("ed", "ion", "ions"))


_DESTROYING_STEMS = ("delete", "remove", "destroy", "truncat", "uninstall", "terminat", "supprim", "elimin", "losch")
# In English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish, Turkish, Indonesian and Russian.
_DESTROYING = _listed(
    """
    delete del remove rm drop destroy erase purge wipe truncate uninstall terminate kill revoke clear reset flush
    discard prune unlink trash shutdown reboot format overwrite nuke cleanup deactivate decommission forget rollback
    loschen loesche loeschen entfernen entferne vernichten zurucksetzen zuruecksetzen leeren
    supprimer supprime effacer efface vider detruire enlever
    eliminar elimina borrar borra quitar vaciar destruir
    eliminare cancella cancellare rimuovi rimuovere svuota distruggi
    excluir exclui apagar apaga remover limpar deletar
    verwijder verwijderen wissen leegmaken
    usun usuwanie skasuj wyczysc
    radera slett slet fjern poista
    sil kaldir temizle hapus
    udalit udali steret ochistit удалить удали стереть очистить сбросить видалити
    """
)
_DESTROYING_SIGNS = _listed_signs("删除 刪除 清空 清除 移除 削除 消去 삭제 제거 حذف إزالة हटा ลบ xóa xoá")
_CHANGING = _listed(
    """
    create add insert append write update upsert edit modify change set put post patch send submit publish deploy
    execute exec run invoke call trigger start stop restart enable disable toggle move rename copy upload import
    install
    apply assign unassign merge commit push pull checkout rebase close open reopen lock unlock archive restore
    approve
    reject accept decline cancel book order buy pay charge refund transfer withdraw deposit invite ban block mute
    grant
    share subscribe unsubscribe register login logout schedule save store replace attach detach link migrate sync
    init
    make build generate draft reply forward comment react like follow tag label mark pin watch star vote rate note
    print
    fork clone eval shell command script sudo
    erstellen erstelle anlegen hinzufugen schreiben schreibe andern aendern aktualisieren senden sende speichern
    ausfuhren
    creer cree ajouter ecrire modifier changer envoyer envoie enregistrer executer publier
    crear crea anadir agregar escribir modificar cambiar actualizar enviar guardar ejecutar publicar
    creare aggiungi scrivi modifica aggiorna invia salva esegui pubblica
    criar adicionar escrever alterar atualizar salvar executar
    maak toevoegen schrijf wijzig verstuur opslaan utworz dodaj zapisz zmien wyslij
    olustur ekle yaz guncelle gonder kaydet buat tambah tulis ubah kirim simpan
    sozdat dobavit zapisat izmenit otpravit создать добавить записать изменить отправить выполнить
    """
)
_CHANGING_SIGNS = _listed_signs(
    "创建 新建 添加 写入 更新 修改 发送 执行 作成 追加 書き込 送信 実行 생성 추가 수정 보내"
)
_NOUNS = _listed(
    """
    post put patch order book share like comment note star watch tag label mark pin vote rate link script command
    build draft archive store call commit branch change set run release print fork pull push merge import copy block
    lock
    charge refund transfer deposit invite schedule format trigger start
    """
)
_READING = _listed(
    """
    get list read search find show describe view look lookup count check status info inspect fetch browse retrieve
    scan exists has is ls cat head tail grep glob stat tree diff log history help version ping preview summarize
    analyze explain compare validate verify convert calculate compute translate what which who when where current
    lesen lese zeigen zeige suchen suche finden anzeigen auflisten holen
    lire lis chercher cherche trouver afficher lister obtenir
    leer buscar busca encontrar mostrar listar obtener consultar ver
    leggi cerca trova mostra elenca ottieni ler procurar lees zoek toon czytaj szukaj pokaz oku ara listele goster
    baca cari
    chitat nayti pokazat poluchit читать прочитать найти показать получить
    """
)
_READING_SIGNS = _listed_signs("读取 查询 查看 搜索 获取 列出 取得 検索 表示 一覧 조회 검색 목록")
