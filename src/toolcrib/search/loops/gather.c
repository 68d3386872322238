/* Both arms side by side, as in evidence.py. */

#include "loops.h"

#include <string.h>

#define SAID 10
#define FEATURES 21

/* The candidates of both arms: first what the lexical arm found, in its order, then what else is near. */
typedef struct {
    int64_t *numbers;
    double *lexical, *dense, *asked, *told;
    Py_ssize_t named, count;
} Candidates;

/* What the dense arm says. */
typedef struct {
    const float *scores;
    PyObject *nearest;
    Py_ssize_t tools, near;
    double mean, spread, gone;
} Near;

static Py_ssize_t number_at(PyObject *tuple, Py_ssize_t place) {
    return PyLong_AsSsize_t(PyTuple_GetItem(tuple, place));
}

/* Reads those word by word that are among the `depth` first of either arm. 0: they have rows that are none. */
static int read_closely(const Candidates *found, Py_ssize_t place, const Asked *asked, const Told *told,
                        const int64_t *starts, const int64_t *ends, Py_ssize_t blocks) {
    /* A number that has no words yet has the first row of all, which is nobody's. */
    const int64_t number = found->numbers[place], row = number < blocks ? starts[number] : 0;
    const int64_t end = number < blocks ? ends[number] : 1;
    if (row < 0 || row >= end || end > told->rows) return 0;
    return compare(asked, told, row, end, &found->asked[place], &found->told[place]);
}

static void write_signs(const Candidates *found, const Near *near, const double *said, double *features) {
    double most_asked = 0, most_told = 0, best[5] = {0}, both = 0, same = 0;
    Py_ssize_t highest = 0;
    for (Py_ssize_t at = 0; at < found->count; at++) {
        highest = found->dense[at] > found->dense[highest] ? at : highest;
        most_asked = found->asked[at] > most_asked ? found->asked[at] : most_asked;
        most_told = found->told[at] > most_told ? found->told[at] : most_told;
    }
    for (Py_ssize_t rank = 0; rank < near->near && rank < 5; rank++) {
        const Py_ssize_t number = number_at(near->nearest, rank);
        best[rank] = near->scores[number];
        for (Py_ssize_t place = 0; place < found->named && place < 5; place++)
            if (found->numbers[place] == number) {
                both++;
                same += !rank && !place;
            }
    }
    const double top = found->count && found->dense[highest] > 0 ? found->dense[highest] : 0;
    const double first = found->named ? found->dense[0] : 0;
    memcpy(features, said, 4 * sizeof *said);
    features[4] = best[0];
    features[5] = top / 4;
    features[6] = (best[0] - best[1]) / near->spread;
    features[7] = (best[0] - best[4]) / near->spread;
    features[8] = both / 5;
    features[9] = same;
    memcpy(features + 10, said + 4, 6 * sizeof *said);
    features[16] = found->count ? found->lexical[highest] : 0;
    features[17] = first / 4;
    features[18] = (top - first) / 4;
    features[19] = most_asked;
    features[20] = most_told;
}

/* gather(named, their_scores, said, scores, nearest, mean, spread, gone, depth, vectors, starts, ends, words,
   directions, shares, numbers, columns, features) -> how many candidates there are */
PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Asked asked;
    Told told;
    Candidates found = {.count = 0};
    Near near = {.nearest = args[4]};
    Py_ssize_t blocks, ending, meanings, sharing, room, columns, signs;
    double said[SAID];
    if (count != 18) return refuse("eighteen arguments were expected");
    if (!ask(&asked, args[9])) return NULL;
    found.named = PyTuple_Size(args[0]);
    near.near = PyTuple_Size(args[4]);
    near.mean = PyFloat_AsDouble(args[5]);
    near.spread = PyFloat_AsDouble(args[6]);
    near.gone = PyFloat_AsDouble(args[7]);
    const Py_ssize_t depth = PyLong_AsSsize_t(args[8]);
    near.scores = take(&arrays, args[3], 4, 0, &near.tools);
    const int64_t *starts = near.scores ? take(&arrays, args[10], 8, 0, &blocks) : NULL;
    const int64_t *ends = starts ? take(&arrays, args[11], 8, 0, &ending) : NULL;
    told.words = ends ? take(&arrays, args[12], 4, 0, &told.rows) : NULL;
    told.directions = told.words ? take(&arrays, args[13], 4, 0, &meanings) : NULL;
    told.shares = told.directions ? take(&arrays, args[14], 4, 0, &sharing) : NULL;
    found.numbers = told.shares ? take(&arrays, args[15], 8, 1, &room) : NULL;
    found.lexical = found.numbers ? take(&arrays, args[16], 8, 1, &columns) : NULL;
    double *features = found.lexical ? take(&arrays, args[17], 8, 1, &signs) : NULL;
    for (int at = 0; at < SAID && !PyErr_Occurred(); at++) said[at] = PyFloat_AsDouble(PyTuple_GetItem(args[2], at));
    int fits = !PyErr_Occurred() && PyTuple_Size(args[1]) == found.named && ending >= blocks && sharing >= told.rows &&
               room >= found.named + near.near && columns == 4 * room && signs == FEATURES;
    if (fits) {
        told.meanings = meanings / DIMENSIONS;
        found.dense = found.lexical + room;
        found.asked = found.dense + room;
        found.told = found.asked + room;
    }
    for (; fits && found.count < found.named; found.count++) {
        found.numbers[found.count] = number_at(args[0], found.count);
        found.lexical[found.count] = PyFloat_AsDouble(PyTuple_GetItem(args[1], found.count));
        fits = found.numbers[found.count] >= 0;
        if (fits && found.count < depth && asked.count)
            fits = read_closely(&found, found.count, &asked, &told, starts, ends, blocks);
    }
    for (Py_ssize_t at = found.count - 1; at >= 0; at--) found.lexical[at] /= found.lexical[0];
    for (Py_ssize_t rank = 0; fits && rank < near.near; rank++) {
        const Py_ssize_t number = number_at(near.nearest, rank);
        Py_ssize_t at = 0;
        while (at < found.named && found.numbers[at] != number) at++;
        if (at == found.named) {
            at = found.count++;
            found.numbers[at] = number;
        }
        fits = number >= 0 && number < near.tools;
        if (fits && rank < depth && (at >= found.named || at >= depth) && asked.count)
            fits = read_closely(&found, at, &asked, &told, starts, ends, blocks);
    }
    for (Py_ssize_t at = 0; fits && at < found.count; at++) {
        const int64_t number = found.numbers[at];
        if (near.near && number < near.tools && near.scores[number] > near.gone)
            found.dense[at] = (near.scores[number] - near.mean) / near.spread;
    }
    if (fits) write_signs(&found, &near, said, features);
    give_back(&arrays);
    if (!fits && !PyErr_Occurred()) refuse("the arms do not fit together");
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(found.count);
}
