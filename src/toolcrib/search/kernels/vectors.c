/* From features to the vectors of words and texts: `add_features` and `add_words` in plain.py. */

#include "loops.h"

#include <math.h>
#include <string.h>

#define MOST_DIMENSIONS 1024

/* The rows of a model. */
typedef struct {
    const uint8_t *levels;
    const uint16_t *scales; /* of half precision */
    int groups, third;      /* scales of a row, and a third of its bytes */
} Table;

static int8_t four_weights[4096][4]; /* by the twelve bits they are kept in */

void prepare_vectors(void) {
    for (int code = 0; code < 4096; code++)
        for (int place = 0; place < 4; place++) four_weights[code][place] = (int8_t)((code >> 3 * place & 7) - 4);
}

static double of_half_precision(uint16_t bits) {
    int exponent = bits >> 10 & 31, digits = (bits & 1023) | (exponent ? 1024 : 0);
    double size = digits * 0x1p-25 * (double)(1u << (exponent ? exponent : 1));
    return bits >> 15 ? -size : size;
}

WIDE static void add_row(const Table *table, Py_ssize_t row, double *sums) {
    const int third = table->third, wide = 8 * third / table->groups;
    const uint8_t *low = table->levels + row * 3 * third, *high = low + 2 * third;
    int8_t weights[MOST_DIMENSIONS];
    for (int at = 0; at < third; at++) {
        memcpy(weights + 4 * at, four_weights[low[at] | (high[at] & 15) << 8], 4);
        memcpy(weights + 4 * (third + at), four_weights[low[third + at] | (high[at] >> 4) << 8], 4);
    }
    for (int group = 0; group < table->groups; group++) {
        double scale = of_half_precision(table->scales[row * table->groups + group]);
        for (int at = group * wide; at < (group + 1) * wide; at++) sums[at] += scale * weights[at];
    }
}

/* Returns a negative number on error. */
static int add_word(const Known *known, const Table *table, PyObject *word, PyObject *plain, float *out) {
    uint32_t features[MOST_FEATURES];
    Py_ssize_t rows[MOST_FEATURES];
    double sums[MOST_DIMENSIONS] = {0};
    const int found = features_of(word, plain, features);
    for (int at = 0; at < found; at++) {
        rows[at] = row_of(known, features[at]);
        if (rows[at] < 0) continue;
        FETCH(table->levels + rows[at] * 3 * table->third);
        FETCH(table->levels + (rows[at] + 1) * 3 * table->third - 1);
        FETCH(table->scales + rows[at] * table->groups);
    }
    for (int at = 0; at < found; at++)
        if (rows[at] >= 0) add_row(table, rows[at], sums);
    for (int at = 0; at < 8 * table->third; at++) out[at] = (float)sums[at];
    return found;
}

/* add_features(words, plains, features, starts, levels, scales, out) */
PyObject *add_features(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Known known;
    Table table;
    Py_ssize_t levels, scales, room;
    if (count != 7) return refuse("seven arguments were expected");
    const Py_ssize_t words = PyList_Size(args[0]), plains = PyList_Size(args[1]);
    take_known(&arrays, args[2], args[3], &known);
    table.levels = take(&arrays, args[4], 1, 0, &levels);
    table.scales = take(&arrays, args[5], 2, 0, &scales);
    float *out = take(&arrays, args[6], 4, 1, &room);
    if (out && words) {
        const Py_ssize_t dimensions = room / words;
        table.groups = known.rows ? (int)(scales / known.rows) : 1;
        table.third = (int)dimensions / 8;
        if (plains != words || dimensions > MOST_DIMENSIONS || dimensions % 8 || table.groups < 1 ||
            levels != known.rows * 3 * table.third || dimensions % table.groups)
            out = refuse("the table and the vectors do not fit together");
        for (Py_ssize_t word = 0; out && word < words; word++) {
            PyObject *plain = PyList_GetItem(args[1], word);
            if (add_word(&known, &table, PyList_GetItem(args[0], word), plain, out + word * dimensions) < 0) out = NULL;
        }
    }
    give_back(&arrays);
    if (!out) return NULL;
    Py_RETURN_NONE;
}

/* Summed in the order of numpy, eight partial sums per block of 128: a text has the same vector to the last bit. */
static double sum_of_squares(const double *numbers, Py_ssize_t count) {
    if (count > 128) {
        Py_ssize_t half = count / 2 - count / 2 % 8;
        return sum_of_squares(numbers, half) + sum_of_squares(numbers + half, count - half);
    }
    double sums[8] = {0}, rest = 0;
    Py_ssize_t whole = count - count % 8;
    for (Py_ssize_t at = 0; at < whole; at += 8)
        for (int lane = 0; lane < 8; lane++) sums[lane] += numbers[at + lane] * numbers[at + lane];
    for (Py_ssize_t at = whole; at < count; at++) rest += numbers[at] * numbers[at];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])) + rest;
}

/* add_words(vectors, out) */
PyObject *add_words(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    double sums[MOST_DIMENSIONS] = {0};
    Py_ssize_t dimensions, size;
    if (count != 2) return refuse("two arguments were expected");
    const Py_ssize_t words = PyList_Size(args[0]);
    float *out = take(&arrays, args[1], 4, 1, &dimensions);
    if (out && dimensions > MOST_DIMENSIONS) out = refuse("too many dimensions");
    for (Py_ssize_t word = 0; out && word < words; word++) {
        const float *vector = take(&arrays, PyList_GetItem(args[0], word), 4, 0, &size);
        if (!vector || size != dimensions) {
            out = vector ? refuse("a vector is too short or too long") : NULL;
            break;
        }
        for (Py_ssize_t at = 0; at < dimensions; at++) sums[at] += vector[at];
        PyBuffer_Release(&arrays.held[--arrays.count]);
    }
    double length = out ? sqrt(sum_of_squares(sums, dimensions)) : 0;
    for (Py_ssize_t at = 0; out && at < dimensions; at++) out[at] = length ? (float)(sums[at] / length) : 0;
    give_back(&arrays);
    if (!out) return NULL;
    Py_RETURN_NONE;
}
