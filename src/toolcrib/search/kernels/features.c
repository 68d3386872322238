/* From words to features, as in hashing.py, and which of them are known; words one edit apart. See plain.py. */

#include "loops.h"

#include <string.h>

#define MAX_LETTERS 64
#define MAX_GRAMS_PER_SIZE 20
#define MAX_RUN 60
#define HALVES 65536

static uint32_t crc_of_byte[256];

void prepare_features(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        crc_of_byte[byte] = crc;
    }
}

/* CRC-32 of a text, behind another of which it is `crc`: 0 of none. */
static uint32_t crc32_behind(uint32_t crc, const char *text, Py_ssize_t size) {
    crc = ~crc;
    for (Py_ssize_t at = 0; at < size; at++) crc = crc_of_byte[(crc ^ (uint8_t)text[at]) & 255] ^ crc >> 8;
    return ~crc;
}

/* Where the first `most` letters of a text begin, and where the last of them ends; gives how many there are. */
static int letters(const char *text, Py_ssize_t size, int most, Py_ssize_t *begins) {
    int count = 0;
    for (Py_ssize_t at = 0; at < size; at++)
        if ((text[at] & 0xC0) != 0x80) {
            begins[count] = at;
            if (count++ == most) return most;
        }
    begins[count] = size;
    return count;
}

static int run_features(const char *run, Py_ssize_t size, uint32_t *features) {
    Py_ssize_t begins[MAX_RUN + 1];
    const uint32_t whole = crc32_behind(0, "w", 1), part = crc32_behind(0, "c", 1);
    int length = letters(run, size, MAX_RUN, begins), count = 0;
    if (length <= 6) features[count++] = crc32_behind(whole, run, begins[length]);
    for (int width = 1; width <= 3; width++)
        for (int at = 0; at + width <= length; at++)
            features[count++] = crc32_behind(part, run + begins[at], begins[at + width] - begins[at]);
    return count;
}

static int spelled_features(const char *word, Py_ssize_t size, const char *plain, Py_ssize_t plain_size,
                            uint32_t *features) {
    Py_ssize_t begins[MAX_LETTERS + 3];
    char bare[4 * MAX_LETTERS + 2];
    const uint32_t whole = crc32_behind(0, "w", 1);
    int length = letters(word, size, MAX_LETTERS, begins), count = 0;
    features[count++] = crc32_behind(whole, word, begins[length]);
    length = letters(plain, plain_size, MAX_LETTERS, begins + 1) + 2;
    if (length <= 3) return count;
    Py_ssize_t inside = begins[length - 1];
    bare[0] = '<';
    memcpy(bare + 1, plain, inside);
    bare[inside + 1] = '>';
    begins[0] = -1;
    begins[length] = inside + 1;
    for (int width = 3; width <= 6 && width <= length; width++)
        for (int at = 0; at + width <= length && at < MAX_GRAMS_PER_SIZE; at++)
            features[count++] = crc32_behind(0, bare + 1 + begins[at], begins[at + width] - begins[at]);
    return count;
}

int features_of(PyObject *word, PyObject *plain, uint32_t *features) {
    Py_ssize_t size, plain_size;
    const char *text = PyUnicode_AsUTF8AndSize(word, &size);
    if (!text) return -1;
    if (plain == Py_None) return run_features(text, size, features);
    const char *bare = PyUnicode_AsUTF8AndSize(plain, &plain_size);
    return bare ? spelled_features(text, size, bare, plain_size, features) : -1;
}

Py_ssize_t row_of(const Known *known, uint32_t wanted) {
    /* Features with the same upper 16 bits are adjacent. */
    for (uint32_t row = known->starts[wanted >> 16], end = known->starts[(wanted >> 16) + 1]; row < end; row++)
        if (known->features[row] == wanted) return row;
    return -1;
}

int take_known(Arrays *arrays, PyObject *features, PyObject *starts, Known *known) {
    Py_ssize_t count;
    known->features = take(arrays, features, 4, 0, &known->rows);
    known->starts = take(arrays, starts, 4, 0, &count);
    if (PyErr_Occurred()) return 0;
    if (count == HALVES + 1 && known->starts[HALVES] == known->rows) return 1;
    refuse("the features and where their halves begin do not fit together");
    return 0;
}

/* known_share(word, plain or None, features, starts) */
PyObject *known_share(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Known known;
    uint32_t features[MOST_FEATURES];
    int known_pieces = 0;
    if (count != 4) return refuse("four arguments were expected");
    int found = take_known(&arrays, args[2], args[3], &known) ? features_of(args[0], args[1], features) : -1;
    for (int at = 1; at < found; at++) known_pieces += row_of(&known, features[at]) >= 0;
    give_back(&arrays);
    if (found < 0) return NULL;
    return PyFloat_FromDouble(found > 1 ? (double)known_pieces / (found - 1) : 1.0);
}

/* known_positions(numbers, features, starts) -> the places of those that have a row */
PyObject *known_positions(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Known known;
    if (count != 3) return refuse("three arguments were expected");
    const Py_ssize_t wanted = PyList_Size(args[0]);
    PyObject *places = take_known(&arrays, args[1], args[2], &known) ? PyList_New(0) : NULL;
    for (Py_ssize_t at = 0; places && at < wanted; at++) {
        const unsigned long number = PyLong_AsUnsignedLong(PyList_GetItem(args[0], at));
        if (row_of(&known, (uint32_t)number) < 0) continue;
        PyObject *place = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(at);
        if (!place || PyList_Append(places, place) < 0) Py_CLEAR(places);
        Py_XDECREF(place);
    }
    give_back(&arrays);
    if (PyErr_Occurred()) Py_CLEAR(places);
    return places;
}

/* deletion_matches(word, sums, owners) -> the owners of the sums of the word and of its forms that lack one letter */
PyObject *deletion_matches(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Py_ssize_t size, sums, owning, begins[MAX_LETTERS + 1];
    if (count != 3) return refuse("three arguments were expected");
    const char *word = PyUnicode_AsUTF8AndSize(args[0], &size);
    const uint32_t *known = take(&arrays, args[1], 4, 0, &sums);
    const int64_t *owners = take(&arrays, args[2], 8, 0, &owning);
    PyObject *found = owners && owning == sums ? PyList_New(0) : NULL;
    int length = found ? letters(word, size, MAX_LETTERS, begins) : 0;
    for (int gap = 0; found && gap <= length; gap++) {
        uint32_t wanted = crc32_behind(0, word, begins[gap]);
        if (gap < length) wanted = crc32_behind(wanted, word + begins[gap + 1], size - begins[gap + 1]);
        Py_ssize_t at = 0;
        for (Py_ssize_t left = sums; left > 0;) {
            Py_ssize_t half = left / 2, lower = known[at + half] < wanted;
            at += lower ? half + 1 : 0;
            left = lower ? left - half - 1 : half;
        }
        for (; found && at < sums && known[at] == wanted; at++) {
            PyObject *owner = PyLong_FromLongLong(owners[at]);
            if (!owner || PyList_Append(found, owner) < 0) Py_CLEAR(found);
            Py_XDECREF(owner);
        }
    }
    give_back(&arrays);
    return found || PyErr_Occurred() ? found : refuse("as many owners as sums were expected");
}
