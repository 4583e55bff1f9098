/* Weights over demonstrators: min ½‖t − Mᵀa‖² + ½ Σ sᵢaᵢ² over a ≥ 0, with or without Σa = 1.

   Both are one problem in y ≥ 0,

       min ½‖b + Dᵀy‖² + ½ Σ sᵢyᵢ² − c Σyᵢ,                                     [Eq. nnqp]

   with D = M, b = −t, c = 0 for the cone, and with D = M − 1tᵀ, b = 0, c = 1, a = y / Σy for the
   simplex: the multiplier of Σa = 1 is what y is divided by. Its dual has only d unknowns,
   w = b + Dᵀy:

       min ½‖w − b‖² + ½ Σ max(0, c − dᵢᵀw)² / sᵢ,      yᵢ = max(0, c − dᵢᵀw) / sᵢ.

   newton.h minimises that. Here the caller's problem is scaled, and the answer certified.

   Called through ctypes by simplex.py. Plain C, so that no Python header is needed. */

#include "newton.h"

enum { CONE = 0, SIMPLEX = 1, AT_MOST_ONE = 2, LESS_THAN_ONE = 3 };
enum { OK = 0, NO_MEMORY = 1, NOT_FINITE = 2, NEGATIVE_S = 3, NO_SOURCE = 4, NO_SCALE = 5 };

#define SMALLEST_S 1e-13 /* as a share of the row's own square */
#define EPS 2.220446049250313e-16
#define NOISE 1e-12  /* rounding, as a share of the objective, from which a small gap says little */
#define MANY 40000   /* numbers in M from which a second look costs more than a small gap is worth */

static int all_finite(const double *x, Int n) {
    for (Int i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

/* On the cone every row may have a unit of its own; with one length for all, nothing drowns. */
static void even_out(Work *W) {
    for (Int i = 0; i < W->n; i++) {
        if (!(W->len[i] > 1e-140)) continue;
        double back = 1 / W->len[i];
        for (Int j = 0; j < W->d; j++) W->D[i * W->d + j] *= back;
        W->s[i] = fmin(W->s[i] * back * back, 1e100);
        W->back[i] = back, W->len[i] = 1;
    }
    W->uneven = 0;
}

/* Scale the caller's problem into D, s, b. Sources with infinite s are left out. */
FOR_EACH_CPU static int load(
    Work *W, Int n, const double *M, const double *t, const double *s, int simplex, double *factor
) {
    Int d = W->d;
    double squares = 0, fewest = HUGE_VAL, largest = 0, least_s = HUGE_VAL, largest_t = 0;
    const double *shift = simplex ? t : W->b;
    memset(W->b, 0, sizeof(double) * d);
    W->n = 0, W->stride = 1, W->kappa = 1, W->c = simplex, W->has_G = W->has_H = 0;
    for (Int j = 0; j < d; j++) {
        if (!isfinite(t[j])) return NOT_FINITE;
        largest_t = larger(largest_t, fabs(t[j]));
    }
    for (Int i = 0; i < n; i++) {
        const double *m = M + i * d;
        double own = 0;
        for (Int j = 0; j < d; j++) own += (m[j] - shift[j]) * (m[j] - shift[j]);
        if (!(own <= 1e300) && !all_finite(m, d)) return NOT_FINITE;
        if (!(s[i] >= 0)) return NEGATIVE_S;
        if (s[i] > 1e308) continue;
        W->len[W->n] = own, W->back[W->n] = 1;
        W->kept[W->n++] = i;
        squares = own > squares ? own : squares;
        fewest = own < fewest ? own : fewest;
        least_s = s[i] < least_s ? s[i] : least_s;
    }
    largest = W->longest = sqrt(squares);
    /* squares of such numbers over- or underflow: nothing could be certified */
    int large = !(squares < 1e200 && largest_t < 1e100);
    int small = squares < 1e-200 && largest_t < 1e-100 && least_s < 1e-200;
    if (large || (small && squares + largest_t + least_s > 0)) return NO_SCALE;
    if (!(squares > 1e-300 && squares < 1e300)) /* squares say nothing: look at every entry */
        for (Int i = 0; i < W->n; i++)
            for (Int j = 0; j < d; j++)
                largest = fmax(i + j ? largest : 0, fabs(M[W->kept[i] * d + j] - shift[j]));
    W->uneven = !(fewest > 1e-4 * squares && squares < 1e300);
    double unit = fmax(fmax(largest, sqrt(least_s)), 1e-300), inverse = 1 / unit;
    for (Int i = 0; i < W->n; i++) {
        double len = smaller(sqrt(W->len[i]) * inverse, 1);
        double least = SMALLEST_S * larger(len * len, 1e-60);
        W->len[i] = len;
        W->s[i] = smaller(larger(s[W->kept[i]] * inverse * inverse, least), 1e100);
    }
    if (!W->copy && W->n == n) {
        for (Int j = 0; j < d; j++) W->shift_room[j] = shift[j];
        W->D = (double *)M, W->shift = W->shift_room, W->scale = inverse;
    } else {
        if (!W->copy) W->copy = malloc(sizeof(double) * (n * d + 1));
        if (!W->copy) return NO_MEMORY;
        for (Int i = 0; i < W->n; i++) {
            const double *m = M + W->kept[i] * d;
            for (Int j = 0; j < d; j++) W->copy[i * d + j] = (m[j] - shift[j]) * inverse;
        }
        W->D = W->copy, W->shift = NULL;
        if (!simplex) even_out(W);
    }
    double down = simplex || largest_t == 0 ? 0 : -1 / fmax(largest_t, 1e-300);
    for (Int j = 0; j < d; j++) W->b[j] = t[j] * down;
    *factor = largest_t * inverse;
    return OK;
}

/* Solve on one set; a is the caller's, `warm` says that it holds a start. */
FOR_EACH_CPU static int solve_set(
    Work *W, Int n, const double *M, const double *t, const double *s, int simplex, int warm,
    double *a, double *total
) {
    double factor = 1;
    W->work = 0;
    int code = load(W, n, M, t, s, simplex, &factor);
    if (code != OK) return code;
    if (!(warm && resume(W, a))) approach(W);
    if (given_up(W)) W->k = 0; /* y and A may not belong together: better no weights */
    double *y = W->p;
    collect(W, y);
    *total = 0;
    for (Int i = 0; i < W->n; i++) *total += y[i] *= W->back[i];
    memset(a, 0, sizeof(double) * n);
    if (simplex && *total > 0) /* a division, so that one source has a weight of exactly 1 */
        for (Int i = 0; i < W->n; i++) a[W->kept[i]] = y[i] / *total;
    if (!simplex)
        for (Int i = 0; i < W->n; i++) a[W->kept[i]] = y[i] * factor;
    *total = simplex ? *total > 0 : *total * factor;
    return OK;
}

PART double distance(const double *a, const double *b, Int d) {
    double sum = 0;
    for (Int j = 0; j < d; j++) sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* Are all rows about as far from t? */
PART int far_away(const Work *W) {
    double least = HUGE_VAL, most = 0;
    for (Int i = 0; i < W->n; i++) least = smaller(least, W->len[i]), most = larger(most, W->len[i]);
    return least > 0.5 * most;
}

/* What one source adds to the gap of the cone: the best x in [0, most] instead of a. */
PART double conjugate(double s, double p, double a, double most) {
    if (!(p > 0)) return 0.5 * s * a * a - a * p;
    if (p <= s * most) return 0.5 * (s * a - p) * ((s * a - p) / s);
    return 0.5 * s * a * a - a * p + p * most - 0.5 * s * most * most;
}

/* With hardly any s, only the length of Mᵀx limits x: twice that of what the sources have now,
   and what this one is still wanted for. */
PART double limit(const double *m, double p, double extent, Int d) {
    double len = sqrt(dot(m, m, d));
    return (extent + p / len) / len;
}

/* An upper bound of f(a) − min f, and f(a), in the caller's units. [Eq. gap]
   A part of t that no source can change is in f(a), but says nothing about a, so the gap is
   compared with what the sources are seen to change. On the simplex only differences of rows
   matter: all is measured from t, or from the row with the largest weight if t is far away. */
FOR_EACH_CPU static void certify(
    Work *W, Int n, const double *M, const double *t, const double *s, int mode, const double *a,
    double *info
) {
    Int d = W->d, first = 0, high = -1, low = -1, next = -1;
    int bare = 0;
    double *u = W->v, *z = W->z, *o = W->shift_room;
    double penalty = 0, along = 0, least = HUGE_VAL, cone = 0, weight = 0, spread = 0;
    double highest = -HUGE_VAL, lowest = HUGE_VAL, nearest = -HUGE_VAL;
    memset(z, 0, sizeof(double) * d), memset(o, 0, sizeof(double) * d);
    if (mode == SIMPLEX) {
        for (Int i = 1; i < n; i++) first = a[i] > a[first] ? i : first;
        memcpy(o, far_away(W) ? M + first * d : t, sizeof(double) * d);
    }
    for (Int i = 0; i < n; i++) {
        if (a[i] == 0) continue;
        double own = 0;
        for (Int j = 0; j < d; j++) {
            double x = M[i * d + j] - o[j];
            z[j] += a[i] * x, own += x * x;
        }
        weight += a[i], spread += a[i] * own;
    }
    for (Int j = 0; j < d; j++) u[j] = t[j] - o[j] - z[j];
    double extent = 2 * sqrt(spread * weight);
    for (Int i = 0; i < n; i++) {
        if (s[i] > 1e308) continue;
        double p = 0, sa = s[i] * a[i];
        if (mode == SIMPLEX) for (Int j = 0; j < d; j++) p += (M[i * d + j] - o[j]) * u[j];
        else p = dot(M + i * d, u, d);
        penalty += sa * a[i];
        bare |= s[i] == 0;
        along += a[i] * (sa - p);
        least = smaller(least, sa - p);
        if (mode == CONE || mode == LESS_THAN_ONE) {
            int far = p > 0 && p > 2 * s[i] * a[i];
            double most = far ? fmax(a[i], limit(M + i * d, p, extent, d)) : 2 * a[i];
            cone += conjugate(s[i], p, a[i], most);
        }
        double outside = a[i] == 0 ? p : -HUGE_VAL;
        high = p > highest ? i : high, highest = larger(highest, p);
        low = p < lowest ? i : low, lowest = smaller(lowest, p);
        next = outside > nearest ? i : next, nearest = larger(nearest, outside);
    }
    if (mode == AT_MOST_ONE || mode == LESS_THAN_ONE) least = fmin(least, 0);
    info[0] = fmax(0, mode == CONE ? cone : along - least);
    /* the cone holds the set, so its bound is one too: far closer where t and a are small */
    if (mode == LESS_THAN_ONE) info[0] = fmin(info[0], fmax(0, cone));
    if (mode == SIMPLEX && !(weight > 0.5)) info[0] = HUGE_VAL; /* a is not in the set */
    info[1] = 0.5 * (penalty + dot(u, u, d));
    double zz = dot(z, z, d), uu = dot(u, u, d), reach = weight > 0 ? spread / weight : 0;
    double own = mode == SIMPLEX ? fmax(0, spread - zz) : 0.5 * zz, change = 0.5 * (own + penalty);
    /* mostly this is enough to be sure; else see how long u is, as two rows tell that matter */
    double farthest = mode == SIMPLEX ? 4 * W->longest * W->longest : HUGE_VAL;
    if (info[0] <= 1e-13 * change && EPS * sqrt(farthest * uu) <= NOISE * change) reach = farthest;
    else if (high >= 0) {
        Int at = mode == SIMPLEX || highest > -lowest ? high : low;
        double seen = mode == SIMPLEX ? highest - lowest : fmax(highest, -lowest);
        double apart = distance(M + at * d, mode == SIMPLEX ? M + low * d : o, d);
        double rho = apart > 0 ? seen / sqrt(apart) : 0;
        if (next >= 0) reach = fmax(reach, distance(M + next * d, o, d));
        change += fmin(0.5 * rho * rho, rho * sqrt(reach));
    }
    info[3] = info[0] > 0 ? info[0] / fmax(change, 1e-300) : info[0];
    /* rounding in p, on the same scale: where it is large, a small gap says little */
    info[4] = EPS * sqrt(reach * uu);
    info[4] = info[4] > 0 ? info[4] / fmax(change, 1e-300) : info[4];
    info[5] = W->work / W->most_work;
    double doubt = n * d < MANY ? 1e-10 : 1e-6;
    info[6] = (bare && n > 1) || !(info[3] <= doubt && info[4] <= NOISE);
}

/* `batch` problems of one shape, one after the other. M is (n, d), t (d), s (n), a (n); each
   moves on by its step from problem to problem, a step of 0 shares it. info takes seven numbers
   a problem: gap, value, Newton steps; gap and rounding as a share of what the sources change;
   the work as a share of what a problem is worth; and whether it deserves a second look. */
FOR_EACH_CPU int bers_weights(
    Int batch, Int n, Int d, const double *M, Int step_M, const double *t, Int step_t,
    const double *s, Int step_s, int mode, int warm, double *a, double *info
) {
    Work W;
    int code = reserve(&W, n, n < LARGE ? n : 0, d) ? OK : NO_MEMORY;
    double worth = larger(LEAST_WORK, DENSE_STEPS * (double)n * d * (n < d ? n : d));
    for (Int b = 0; b < batch && code == OK; b++) {
        double total = 0, start = 0;
        W.steps = 0, W.most_work = worth;
        /* a start that left something to nobody: most likely the answer does so too */
        for (Int i = 0; warm && mode == AT_MOST_ONE && i < n; i++) start += a[i];
        int below = start > 0 && start < 1 - 1e-9;
        if (below) code = solve_set(&W, n, M, t, s, 0, 1, a, &total), below = total <= 1;
        /* rows of very different length are hard on the simplex and easy on the cone */
        if (mode == AT_MOST_ONE) W.most_work = 0.1 * worth;
        if (code == OK && !below) code = solve_set(&W, n, M, t, s, mode != CONE, warm, a, &total);
        if (code == OK && mode == SIMPLEX && W.n == 0) code = NO_SOURCE;
        if (code == OK) certify(&W, n, M, t, s, below ? LESS_THAN_ONE : mode, a, info);
        /* the weights of the simplex are also the best of at most one, or less would be better */
        if (code == OK && mode == AT_MOST_ONE && !below && !(info[3] <= 1e-12)) {
            W.most_work = worth;
            code = solve_set(&W, n, M, t, s, 0, 0, a, &total);
            below = total <= 1;
            if (code == OK && !below) code = solve_set(&W, n, M, t, s, 1, 0, a, &total);
            if (code == OK) certify(&W, n, M, t, s, below ? LESS_THAN_ONE : mode, a, info);
        }
        info[2] = (double)W.steps;
        M += step_M, t += step_t, s += step_s, a += n, info += 7;
    }
    release(&W);
    return code;
}
