/* The small fitted networks, and the probabilities of candidates: `network` and `probabilities` in plain.py. */

#include "loops.h"

#include <math.h>
#include <stdlib.h>

#define MOST_UNITS 256
#define WAYS 9
#define SHARPNESS 8.0

/* Of a network: mean, spread, line, hidden, hidden_bias, out, bias. */
typedef struct {
    const double *parts[7];
    Py_ssize_t features, units, answers;
} Network;

/* Returns 0 on error. */
static int take_network(Arrays *arrays, PyObject *const *args, Network *network) {
    Py_ssize_t sizes[7];
    for (int part = 0; part < 7; part++) network->parts[part] = take(arrays, args[part], 8, 0, &sizes[part]);
    if (PyErr_Occurred()) return 0;
    network->features = sizes[0];
    network->units = sizes[4];
    network->answers = sizes[6];
    if (network->units <= MOST_UNITS && sizes[1] == sizes[0] && sizes[2] == sizes[0] * sizes[6] &&
        sizes[3] == sizes[0] * sizes[4] && sizes[5] == sizes[4] * sizes[6])
        return 1;
    refuse("the parts of the network do not fit together");
    return 0;
}

static void run(const Network *network, const double *features, double *answers) {
    const double *mean = network->parts[0], *spread = network->parts[1], *line = network->parts[2];
    const double *hidden = network->parts[3], *out = network->parts[5];
    double units[MOST_UNITS];
    for (Py_ssize_t unit = 0; unit < network->units; unit++) units[unit] = network->parts[4][unit];
    for (Py_ssize_t answer = 0; answer < network->answers; answer++) answers[answer] = network->parts[6][answer];
    for (Py_ssize_t at = 0; at < network->features; at++) {
        double scaled = (features[at] - mean[at]) / spread[at];
        for (Py_ssize_t answer = 0; answer < network->answers; answer++) answers[answer] += scaled * *line++;
        for (Py_ssize_t unit = 0; unit < network->units; unit++) units[unit] += scaled * *hidden++;
    }
    for (Py_ssize_t unit = 0; unit < network->units; unit++) {
        double bent = tanh(units[unit]);
        for (Py_ssize_t answer = 0; answer < network->answers; answer++) answers[answer] += bent * *out++;
    }
}

/* network(features, answers, mean, spread, line, hidden, hidden_bias, out, bias) */
PyObject *network(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Network fitted;
    Py_ssize_t size, room;
    if (count != 9) return refuse("nine arguments were expected");
    const double *features = take(&arrays, args[0], 8, 0, &size);
    double *answers = take(&arrays, args[1], 8, 1, &room);
    if (take_network(&arrays, args + 2, &fitted)) {
        if (size == fitted.features && room == fitted.answers) run(&fitted, features, answers);
        else refuse("the network has another size");
    }
    give_back(&arrays);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static void weigh(const double *trust, const double *lexical, const double *dense, const double *query,
                  const double *tool, Py_ssize_t count, Scored *order, double *probabilities) {
    double most = -INFINITY, whole = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        double height = dense[at] / 4, fall = 1 / (1 + at / 3.0);
        order[at] = (Scored){dense[at], at, at};
        probabilities[at] = trust[0] * lexical[at] + trust[1] * lexical[at] * lexical[at] + trust[2] * height +
                            trust[3] * (lexical[at] > 0 ? fall : 0) + trust[5] * lexical[at] * height +
                            trust[6] * SHARPNESS * query[at] + trust[7] * SHARPNESS * tool[at] +
                            trust[8] * SHARPNESS * query[at] * tool[at];
    }
    qsort(order, count, sizeof *order, falling);
    for (Py_ssize_t rank = 0; rank < count; rank++) {
        probabilities[order[rank].number] += trust[4] / (1 + rank / 3.0);
        if (probabilities[order[rank].number] > most) most = probabilities[order[rank].number];
    }
    for (Py_ssize_t at = 0; at < count; at++) whole += probabilities[at] = exp(probabilities[at] - most);
    for (Py_ssize_t at = 0; at < count; at++) probabilities[at] /= whole;
}

/* probabilities(features, lexical, dense, query, tool, probabilities, and the network's seven) */
PyObject *probabilities(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Network fitted;
    double *given[6], trust[WAYS];
    Py_ssize_t sizes[6];
    if (count != 13) return refuse("thirteen arguments were expected");
    for (int at = 0; at < 6; at++) given[at] = take(&arrays, args[at], 8, at == 5, &sizes[at]);
    if (take_network(&arrays, args + 6, &fitted)) {
        Py_ssize_t tools = sizes[1];
        int fits = sizes[0] == fitted.features && fitted.answers == WAYS && sizes[2] == tools && sizes[3] == tools &&
                   sizes[4] == tools && sizes[5] == tools;
        Scored *order = fits ? PyMem_Malloc((tools + 1) * sizeof *order) : NULL;
        if (order) {
            run(&fitted, given[0], trust);
            weigh(trust, given[1], given[2], given[3], given[4], tools, order, given[5]);
            PyMem_Free(order);
        } else if (fits) PyErr_NoMemory();
        else refuse("the candidates do not fit together");
    }
    give_back(&arrays);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}
