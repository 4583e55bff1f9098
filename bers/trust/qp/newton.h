/* The Newton method behind simplex.c: one problem of [Eq. nnqp], scaled, from any start to its end.

   The dual is piecewise quadratic and strongly convex, so a Newton method with an exact line search
   ends after finitely many steps. A step solves for the active rows (yᵢ > 0) only, in as many
   dimensions as there are such rows or features, whichever is less. Where rows are few, the
   active ones are guessed first, which mostly is the answer already. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIRECT_STEPS 12      /* before the problem is approached through larger s */
#define MOST_STEPS 150
#define LEAST_WORK 6e9       /* multiplications that any problem is worth, some seconds; */
#define DENSE_STEPS 8        /* a large one is worth so many steps in which all rows are active */
#define COARSE_ROWS 512      /* a sample of so many rows gives a start for all of them */
#define FINER 4              /* from sample to sample; with more, a start may be a poor one */
#define LARGE (16 * COARSE_ROWS)
#define BLOCK 64
#define SMALL 32             /* up to so many rows, all their inner products are found at once */
#define TILE 8               /* four by TILE of them stay in registers */

/* The functions that take the time exist once for new and once for old processors; the small ones
   become part of them. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_EACH_CPU
#endif
#define PART static inline __attribute__((always_inline))

typedef long long Int;
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

typedef struct {
    Int n, d, k;             /* rows, features, active rows */
    Int stride;              /* only every so many rows, while the answer is approached */
    double kappa;            /* s is multiplied by this, while the answer is approached */
    double *s, *b, c;        /* the problem, scaled */
    double *len, *back;      /* length of each row of D; what its y is multiplied by in the end */
    int uneven;              /* are some rows far longer than others */
    double longest;          /* in the caller's units */
    double *D;               /* its rows, or the caller's rows where a copy would be large; */
    double *shift;           /* those still have to be shifted and scaled */
    double *shift_room;
    double scale;
    double *copy;            /* room for D */
    double *w, *p;           /* the dual point, and Dw */
    double *v, *q;           /* the Newton point, and Dv */
    double *ya, *r, *z, *H;  /* y and residual of the active rows; the linear system */
    double *X, *x;           /* a block of rows; one row */
    double *G;               /* inner products of all rows, where they are few */
    int has_G, has_H;        /* is G found; does H hold the factor, ya the answer, for A */
    Int *A;                  /* which rows are active, in order */
    Int *kept;               /* rows of the caller that are in D; as much room again */
    Int steps;
    double work, most_work;  /* multiplications that were done, and that may be */
    Int last_n;              /* rows of the problem before this one, whose active rows are in A */
    void *room;              /* where all but the copy is */
} Work;

/* A row that has weight, or would like to. */
typedef struct { double q, s; Int i; } Wanting;

/* ---- memory ------------------------------------------------------------------------------- */

static void release(Work *W) { free(W->copy); free(W->room); }

/* Rows of square matrices have room for a multiple of four numbers, for the sake of SIMD. */
PART Int padded(Int n) { return (n + 3) & ~(Int)3; }
PART Int tiled(Int n) { return (n + TILE - 1) & ~(Int)(TILE - 1); }

/* Room for n sources, and for a copy of `rows` of them. */
static int reserve(Work *W, Int n, Int rows, Int d) {
    *W = (Work){.d = d, .stride = 1, .kappa = 1};
    Int few = n < SMALL ? n : SMALL, side = tiled(few > d ? few : d);
    Int block = side > BLOCK ? side : BLOCK, all = 0;
    struct { void *where; Int size; } parts[] = {
        {&W->s, n}, {&W->len, n}, {&W->back, n}, {&W->p, n}, {&W->q, n + TILE}, {&W->ya, n}, {&W->r, n},
        {&W->b, d}, {&W->w, d}, {&W->v, d}, {&W->z, d}, {&W->x, d}, {&W->shift_room, d},
        {&W->H, side * side}, {&W->G, side * side}, {&W->X, d * block},
        {&W->A, n}, {&W->kept, 2 * n},
    };
    int count = sizeof parts / sizeof parts[0];
    for (int i = 0; i < count; i++) all += parts[i].size = padded(parts[i].size + 1);
    W->copy = rows ? malloc(sizeof(double) * (rows * d + 1)) : NULL;
    double *next = W->room = malloc(sizeof(double) * all);
    for (int i = 0; i < count; next += parts[i++].size) memcpy(parts[i].where, &next, sizeof next);
    return (W->copy || !rows) && W->room;
}

/* ---- linear algebra ------------------------------------------------------------------------ */

/* Not fmax and fmin, whose care for NaN makes them slow. */
PART double larger(double a, double b) { return b > a ? b : a; }
PART double smaller(double a, double b) { return b < a ? b : a; }

PART double dot(const double *a, const double *b, Int n) {
    double sum = 0;
    for (Int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

PART void add(double *a, double scale, const double *b, Int n) {
    for (Int i = 0; i < n; i++) a[i] += scale * b[i];
}

/* a += scale · b from `start` on, in steps of four: what lies before `start` may change, too. */
PART void add_fours(double *a, double scale, const double *b, Int start, Int n) {
    for (Int i = start & ~(Int)3; i < n; i += 4)
        for (Int j = i; j < i + 4; j++) a[j] += scale * b[j];
}

/* H = UᵀD⁻¹U in its upper triangle, D the diagonal of U, which is left as 1 / Uᵢᵢ: Cholesky's
   factors without roots. 0 if H is not positive definite. A row takes padded(n) numbers; what is
   below the diagonal is overwritten. */
PART int cholesky(double *restrict H, Int n) {
    Int row = padded(n);
    for (Int j = 0; j < n; j++) {
        double *u = H + j * row;
        if (!(u[j] > 0)) return 0;
        u[j] = 1 / u[j];
        for (Int i = j + 1; i < n; i++) add_fours(H + i * row, -u[i] * u[j], u, i, row);
    }
    return 1;
}

PART void solve_cholesky(const double *U, double *b, Int n) {
    Int row = padded(n);
    for (Int i = 0; i < n; i++) {
        b[i] *= U[i * row + i];
        add(b + i + 1, -b[i], U + i * row + i + 1, n - i - 1);
    }
    for (Int i = n - 1; i >= 0; i--)
        b[i] -= dot(U + i * row + i + 1, b + i + 1, n - i - 1) * U[i * row + i];
}

/* ---- one Newton step ----------------------------------------------------------------------- */

PART double ridge(const Work *W, Int i) { return W->kappa * W->s[i * W->stride]; }
PART double length(const Work *W, Int i) { return W->len[i * W->stride]; }
PART const double *raw(const Work *W, Int i) { return W->D + i * W->stride * W->d; }

/* x = dᵢ. */
PART void read_row(const Work *W, Int i, double *x) {
    const double *m = raw(W, i);
    if (W->shift) for (Int j = 0; j < W->d; j++) x[j] = (m[j] - W->shift[j]) * W->scale;
    else memcpy(x, m, sizeof(double) * W->d);
}

/* out[j] = dᵢᵀw for the rows i in `which`, or for all rows. */
PART void product(const Work *W, const Int *which, Int n, const double *w, double *out) {
    double offset = W->shift ? dot(W->shift, w, W->d) : 0, scale = W->shift ? W->scale : 1;
    if (which) for (Int j = 0; j < n; j++) out[j] = dot(raw(W, which[j]), w, W->d);
    else for (Int j = 0; j < n; j++) out[j] = dot(raw(W, j), w, W->d);
    if (W->shift) for (Int j = 0; j < n; j++) out[j] = (out[j] - offset) * scale;
}

/* z += Σ coefficientⱼ dⱼ over the active rows. */
PART void add_rows(const Work *W, const double *coefficient, double *z) {
    double total = 0;
    if (!W->shift) {
        for (Int j = 0; j < W->k; j++) add(z, coefficient[j], raw(W, W->A[j]), W->d);
        return;
    }
    memset(W->x, 0, sizeof(double) * W->d);
    for (Int j = 0; j < W->k; j++) {
        add(W->x, coefficient[j], raw(W, W->A[j]), W->d);
        total += coefficient[j];
    }
    for (Int j = 0; j < W->d; j++) z[j] += (W->x[j] - total * W->shift[j]) * W->scale;
}

/* H += Σ dᵢdᵢᵀ / sᵢ over the active rows, a block of them at a time, turned so that it is dots. */
PART void add_outer_products(Work *W) {
    Int d = W->d;
    double *X = W->X;
    for (Int start = 0; start < W->k; start += BLOCK) {
        Int some = W->k - start < BLOCK ? W->k - start : BLOCK;
        if (some < BLOCK) memset(X, 0, sizeof(double) * BLOCK * d);
        for (Int b = 0; b < some; b++) {
            Int i = W->A[start + b];
            double weight = 1 / sqrt(ridge(W, i));
            read_row(W, i, W->x);
            for (Int j = 0; j < d; j++) X[j * BLOCK + b] = W->x[j] * weight;
        }
        for (Int i = 0; i < d; i++)
            for (Int j = i; j < d; j++)
                W->H[i * padded(d) + j] += dot(X + i * BLOCK, X + j * BLOCK, BLOCK);
    }
}

/* Four by TILE inner products of columns of a turned D. */
PART void fill_tile(double *G, const double *left, const double *right, Int d, Int row) {
    Four a0 = {0}, a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;
    for (Int j = 0; j < d; j++, left += row, right += row) {
        Four x = *(const Four *)right, y = *(const Four *)(right + 4);
        a0 += left[0] * x, a1 += left[0] * y, b0 += left[1] * x, b1 += left[1] * y;
        c0 += left[2] * x, c1 += left[2] * y, d0 += left[3] * x, d1 += left[3] * y;
    }
    Four *to = (Four *)G;
    to[0] = a0, to[1] = a1, to += row / 4;
    to[0] = b0, to[1] = b1, to += row / 4;
    to[0] = c0, to[1] = c1, to += row / 4;
    to[0] = d0, to[1] = d1;
}

/* G = DDᵀ, a tile at a time, from a turned copy of D. Rows of G take tiled(n) numbers. */
PART void fill_G(Work *W) {
    Int n = W->n, d = W->d, row = tiled(n);
    double *X = W->X;
    memset(X, 0, sizeof(double) * d * row);
    for (Int i = 0; i < n; i++) {
        const double *m = raw(W, i);
        for (Int j = 0; j < d; j++)
            X[j * row + i] = W->shift ? (m[j] - W->shift[j]) * W->scale : m[j];
    }
    for (Int i = 0; i < row; i += 4)
        for (Int l = 0; l < row; l += TILE) fill_tile(W->G + i * row + l, X + i, X + l, d, row);
    W->has_G = 1;
}

/* Factor D_A D_Aᵀ + S_A. */
PART int factor_rows(Work *W) {
    Int k = W->k, d = W->d, row = padded(k);
    double *H = W->H;
    memset(H, 0, sizeof(double) * k * row);
    for (Int i = 0; i < k; i++) {
        if (W->has_G) {
            const double *all = W->G + W->A[i] * tiled(W->n);
            for (Int j = i; j < k; j++) H[i * row + j] = all[W->A[j]];
        } else {
            double *x = W->X + i * d;
            read_row(W, W->A[i], x);
            for (Int j = 0; j <= i; j++) H[j * row + i] = dot(x, W->X + j * d, d);
        }
    }
    for (Int i = 0; i < k; i++) H[i * row + i] += ridge(W, W->A[i]);
    return cholesky(H, k);
}

/* Factor D_A D_Aᵀ + S_A if the active rows are few, else I + D_Aᵀ S_A⁻¹ D_A. */
PART int factor(Work *W) {
    Int d = W->d, row = padded(d);
    if (W->k <= d) {
        int kept = W->n <= d && W->stride == 1; /* all inner products fit: find them once */
        if (kept && !W->has_G) fill_G(W);
        return factor_rows(W);
    }
    memset(W->H, 0, sizeof(double) * d * row);
    for (Int i = 0; i < d; i++) W->H[i * row + i] = 1;
    add_outer_products(W);
    return cholesky(W->H, d);
}

/* Add to ya the solution of (D_A D_Aᵀ + S_A) ya = r. */
PART void correct(Work *W) {
    Int k = W->k, d = W->d;
    double *some = W->q;
    if (k <= d) {
        solve_cholesky(W->H, W->r, k);
        add(W->ya, 1, W->r, k);
        return;
    }
    for (Int j = 0; j < k; j++) some[j] = W->r[j] / ridge(W, W->A[j]);
    memset(W->z, 0, sizeof(double) * d);
    add_rows(W, some, W->z);
    solve_cholesky(W->H, W->z, d);
    product(W, W->A, k, W->z, some);
    for (Int j = 0; j < k; j++) W->ya[j] += (W->r[j] - some[j]) / ridge(W, W->A[j]);
}

/* z = b + D_Aᵀ ya, and what is left of the active rows' equations; returns the largest rest. */
PART double residual(Work *W) {
    double worst = 0;
    memcpy(W->z, W->b, sizeof(double) * W->d);
    add_rows(W, W->ya, W->z);
    product(W, W->A, W->k, W->z, W->r);
    for (Int j = 0; j < W->k; j++) {
        W->r[j] = W->c - W->r[j] - ridge(W, W->A[j]) * W->ya[j];
        worst = larger(worst, fabs(W->r[j]));
    }
    return worst;
}

/* v from its own d equations, (I + D_Aᵀ S_A⁻¹ D_A) v = b + c D_Aᵀ S_A⁻¹ 1, and ya from v.
   For the cone, refined once: this keeps the digits of v where b and D_Aᵀya nearly cancel. */
PART void from_the_dual(Work *W) {
    double *some = W->q;
    memset(W->v, 0, sizeof(double) * W->d);
    memset(some, 0, sizeof(double) * W->k);
    for (int pass = 0; pass < (W->c == 0 ? 2 : 1); pass++) {
        for (Int j = 0; j < W->d; j++) W->z[j] = W->b[j] - W->v[j];
        for (Int j = 0; j < W->k; j++) some[j] = (W->c - some[j]) / ridge(W, W->A[j]);
        add_rows(W, some, W->z);
        solve_cholesky(W->H, W->z, W->d);
        add(W->v, 1, W->z, W->d);
        product(W, W->A, W->k, W->v, some);
    }
    for (Int j = 0; j < W->k; j++) W->ya[j] = (W->c - some[j]) / ridge(W, W->A[j]);
}

/* ya and v for the active rows; refined, since a small s amplifies rounding. */
FOR_EACH_CPU static int newton_point(Work *W) {
    int many = W->k > W->d, ready = W->has_H && !many;
    W->has_H = 0;
    if (W->k == 0) memcpy(W->v, W->b, sizeof(double) * W->d);
    if (W->k == 0 || !(ready || factor(W))) return W->k == 0;
    if (!ready) memset(W->ya, 0, sizeof(double) * W->k);
    if (many) from_the_dual(W);
    double before = HUGE_VAL, now, noise = W->c;
    if (W->c == 0 || many || ready) now = residual(W);
    else for (Int j = 0; j < W->k; j++) W->r[j] = now = W->c;
    for (Int j = 0; j < W->k; j++) noise += fabs(W->ya[j]) * (W->c == 0 && many);
    noise *= 1e-15;
    if (many && now <= noise) return 1;
    for (; now > noise && now < 0.25 * before; now = residual(W)) {
        before = now;
        correct(W);
    }
    memcpy(W->v, W->z, sizeof(double) * W->d);
    return 1;
}

/* ---- few rows: a guess at the active ones -------------------------------------------------- */

/* The rows that are active at w. */
PART void choose(Work *W) {
    W->k = 0;
    for (Int i = 0; i < W->n; i++) {
        W->A[W->k] = i;
        W->k += W->c > W->p[i];
    }
}

/* ya for the active rows and q of all rows, from inner products alone. */
PART int quick_point(Work *W) {
    Int row = tiled(W->n);
    if (W->k == 0 || !factor_rows(W)) return 0;
    for (Int j = 0; j < W->k; j++) W->ya[j] = W->c - W->p[W->A[j]];
    solve_cholesky(W->H, W->ya, W->k);
    memset(W->q, 0, sizeof(double) * row);
    memcpy(W->q, W->p, sizeof(double) * W->n);
    for (Int j = 0; j < W->k; j++) add_fours(W->q, W->ya[j], W->G + W->A[j] * row, 0, row);
    return 1;
}

/* Let rows in that are left wanting and rows out that are below 0; returns how many. Without
   branches, which no processor could foresee. */
PART Int exchange(Work *W) {
    double least = 0, *merit = W->r;
    Int before = W->k, leaving = 0;
    for (Int j = 0; j < before; j++) least = smaller(least, -1e-13 * W->ya[j]);
    for (Int i = 0; i < W->n; i++) merit[i] = W->c - W->q[i] - 1e-13;
    for (Int j = 0; j < before; j++) {
        merit[W->A[j]] = W->ya[j] - least;
        leaving += !(W->ya[j] > least);
    }
    W->k = 0;
    for (Int i = 0; i < W->n; i++) {
        W->A[W->k] = i;
        W->k += merit[i] > 0;
    }
    return W->k - before + 2 * leaving;
}

/* Is the quick point as good as a refined one? It is where nothing nearly cancels: neither t nor,
   as small pivots would tell, one row against others. */
PART int exact(const Work *W) {
    double total = 0, worst = 0, weakest = 1;
    for (Int j = 0; j < W->k; j++) {
        Int i = W->A[j];
        double inverse = W->H[j * (padded(W->k) + 1)];
        total += fabs(W->ya[j]);
        worst = larger(worst, fabs(W->c - W->q[i] - W->s[i] * W->ya[j]));
        weakest = larger(weakest, inverse);
    }
    return W->c > 0 && W->k <= W->d && total < 1e3 && worst * weakest < 1e-12;
}

enum { NO_IDEA, GUESSED, KNOWN };

/* Exchange rows until none is wrong. Quick, since it needs no line search, but it may go round in
   circles: then nothing is lost. It starts where the problem before ended, since draws of one
   posterior are alike. */
FOR_EACH_CPU static int guess(Work *W) {
    Int fewest = W->n + 1, chances = 3;
    fill_G(W);
    if (W->last_n != W->n || W->k == 0) choose(W);
    while (chances > 0) {
        W->steps++;
        if (!quick_point(W)) return NO_IDEA;
        Int wrong = exchange(W);
        W->has_H = wrong == 0;
        if (wrong == 0) return exact(W) ? KNOWN : GUESSED;
        if (wrong < fewest) fewest = wrong, chances = 3;
        else chances--;
    }
    return NO_IDEA;
}

/* ---- the method ---------------------------------------------------------------------------- */

/* The slope of the dual at w + τ(v − w), and how fast it rises. */
PART double slope(const Work *W, double tau, double *curvature) {
    double pull = 0, rise = 0, own = 0, steps = 0;
    for (Int i = 0; i < W->n; i++) {
        double step = W->q[i] - W->p[i];
        double slack = larger(0, W->c - W->p[i] - tau * step);
        double weighted = step / W->s[i * W->stride];
        pull += slack * weighted;
        rise += slack > 0 ? step * weighted : 0;
    }
    for (Int j = 0; j < W->d; j++) {
        double step = W->v[j] - W->w[j];
        own += (W->w[j] - W->b[j] + tau * step) * step;
        steps += step * step;
    }
    *curvature = steps + rise / W->kappa;
    return own - pull / W->kappa;
}

/* The best τ in (0, 1]: the zero of a rising, piecewise linear slope, by guarded Newton steps. */
PART double line_search(const Work *W) {
    double low = 0, high = 1, tau = 1, curvature;
    for (int i = 0; i < 60; i++) {
        double now = slope(W, tau, &curvature);
        if (now <= 0) low = tau; else high = tau;
        if (low == 1 || high - low < 1e-13) break;
        double next = tau - now / curvature;
        if (fabs(next - tau) < 1e-15) break;
        tau = next > low && next < high ? next : 0.5 * (low + high);
    }
    return tau;
}

/* Is the Newton point the answer? No active row below 0, no other row above. */
PART int finished(const Work *W, double tolerance) {
    double largest = 0, least = 0;
    for (Int j = 0; j < W->k; j++) { /* y counts by what it does to the objective */
        double size = W->ya[j] * (length(W, W->A[j]) + sqrt(ridge(W, W->A[j])));
        largest = larger(largest, size);
        least = smaller(least, size);
    }
    if (least < -tolerance * largest) return 0;
    double noise = W->k > W->d ? 0 : 1e-15 * sqrt(dot(W->b, W->b, W->d));
    double own = tolerance * sqrt(dot(W->v, W->v, W->d)) + noise;
    Int j = 0;
    for (Int i = 0; i < W->n; i++) {
        if (j < W->k && W->A[j] == i) j++;
        else if (W->c - W->q[i] > tolerance * W->c + own * length(W, i)) return 0;
    }
    return 1;
}

PART int given_up(const Work *W) { return W->work > W->most_work; }

/* Newton steps from w, p and A; 1 when the answer is reached, and is then in ya, v and q. */
FOR_EACH_CPU static int descend(Work *W, Int most, double tolerance) {
    for (Int i = 0; i < most; i++) {
        W->steps++;
        W->work += (double)W->d * ((double)W->k * (W->k < W->d ? W->k : W->d) + 8.0 * W->n);
        if (given_up(W) || !newton_point(W)) return 0;
        product(W, NULL, W->n, W->v, W->q);
        if (finished(W, tolerance)) return 1;
        double tau = line_search(W);
        for (Int j = 0; j < W->d; j++) W->w[j] += tau * (W->v[j] - W->w[j]);
        for (Int j = 0; j < W->n; j++) W->p[j] += tau * (W->q[j] - W->p[j]);
        choose(W);
    }
    return 0;
}

PART void take_newton_point(Work *W) {
    memcpy(W->w, W->v, sizeof(double) * W->d);
    memcpy(W->p, W->q, sizeof(double) * W->n);
    choose(W);
}

/* Directly; if that takes long, through problems with ever smaller s, which are easier. */
FOR_EACH_CPU static int settle(Work *W) {
    double own = W->kappa, least = HUGE_VAL;
    if (descend(W, DIRECT_STEPS, 1e-13)) return 1;
    for (Int i = 0; i < W->n; i++) least = smaller(least, W->s[i * W->stride]);
    for (W->kappa = larger(own, 0.1 / least); W->kappa > own; W->kappa = larger(own, W->kappa / 10))
        if (descend(W, 5, 1e-6)) take_newton_point(W);
    return descend(W, MOST_STEPS, 1e-13);
}

/* Add to A the rows outside it that the Newton point leaves wanting; returns how many. */
PART Int take_in_violators(Work *W, Int *spare, double tolerance) {
    double own = tolerance * sqrt(dot(W->v, W->v, W->d));
    Int j = 0, all = 0;
    for (Int i = 0; i < W->n; i++) {
        int inside = j < W->k && W->A[j] == i;
        j += inside;
        spare[all] = i;
        all += inside || W->c - W->q[i] > tolerance * W->c + own * length(W, i);
    }
    Int found = all - W->k;
    memcpy(W->A, spare, sizeof(Int) * all);
    W->k = all;
    return found;
}

/* Many rows of which few are active: solve for those that may be, then ask all the others. */
FOR_EACH_CPU static int settle_on_few(Work *W) {
    int done = 0;
    Int *spare = malloc(sizeof(Int) * (W->n + 1));
    memcpy(W->v, W->w, sizeof(double) * W->d);
    while (spare && !done && 4 * W->k < W->n) {
        Work few;
        if (reserve(&few, W->k, W->k, W->d)) {
            few.n = W->k, few.c = W->c, few.D = few.copy;
            few.most_work = W->most_work - W->work;
            memcpy(few.b, W->b, sizeof(double) * W->d);
            memcpy(few.w, W->v, sizeof(double) * W->d);
            for (Int j = 0; j < W->k; j++) {
                read_row(W, W->A[j], few.D + j * W->d);
                few.s[j] = ridge(W, W->A[j]), few.len[j] = length(W, W->A[j]);
            }
            product(&few, NULL, few.n, few.w, few.p);
            choose(&few);
            done = settle(&few);
            W->steps += few.steps, W->work += few.work;
        }
        if (!done) { release(&few); break; }
        memcpy(W->v, few.v, sizeof(double) * W->d);
        product(W, NULL, W->n, W->v, W->q);
        done = take_in_violators(W, spare, 1e-13) == 0;
        if (done) {
            for (Int j = 0; j < few.k; j++) W->A[j] = W->A[few.A[j]];
            memcpy(W->ya, few.ya, sizeof(double) * few.k);
            W->k = few.k;
        }
        release(&few);
    }
    free(spare);
    if (done) return 1;
    memcpy(W->w, W->v, sizeof(double) * W->d);
    product(W, NULL, W->n, W->w, W->p);
    choose(W);
    return settle(W);
}

/* From a sample of rows, whose s is smaller as they speak for all, to all rows. */
FOR_EACH_CPU static int approach(Work *W) {
    Int n = W->n, stride = 1;
    int done = 0;
    while (n / (FINER * stride) >= COARSE_ROWS) stride *= FINER;
    memcpy(W->w, W->b, sizeof(double) * W->d);
    for (; stride >= 1; stride /= FINER) {
        W->stride = stride, W->n = n / stride, W->kappa = 1.0 / stride;
        product(W, NULL, W->n, W->w, W->p);
        int found = n > SMALL || W->uneven ? NO_IDEA : guess(W);
        if (found == KNOWN) return 1;
        if (found == NO_IDEA) choose(W);
        done = W->n >= LARGE ? settle_on_few(W) : settle(W);
        if (done && stride > 1) memcpy(W->w, W->v, sizeof(double) * W->d);
    }
    return done;
}

/* From an earlier answer a: y is a times the best number. */
FOR_EACH_CPU static int resume(Work *W, const double *a) {
    double quadratic = 0, linear = 0;
    W->stride = 1, W->kappa = 1;
    memset(W->w, 0, sizeof(double) * W->d);
    for (Int i = 0; i < W->n; i++) {
        double ai = a[W->kept[i]] / W->back[i];
        if (!(ai > 0)) continue;
        read_row(W, i, W->x);
        add(W->w, ai, W->x, W->d);
        quadratic += W->s[i] * ai * ai, linear += W->c * ai;
    }
    quadratic += dot(W->w, W->w, W->d), linear -= dot(W->b, W->w, W->d);
    if (!(quadratic > 0 && linear > 0)) return 0;
    for (Int j = 0; j < W->d; j++) W->w[j] = W->b[j] + W->w[j] * (linear / quadratic);
    product(W, NULL, W->n, W->w, W->p);
    W->k = 0;
    for (Int i = 0; i < W->n; i++) {
        W->A[W->k] = i;
        W->k += a[W->kept[i]] > 0;
    }
    return settle(W);
}

/* Where row i comes among its equals: by q, then s, then as it came. */
static int by_q_and_s(const void *left, const void *right) {
    const Wanting *a = left, *b = right;
    if (a->q != b->q) return a->q < b->q ? -1 : 1;
    if (a->s != b->s) return a->s < b->s ? -1 : 1;
    return a->i < b->i ? -1 : 1;
}

PART void insertion_sort(Wanting *all, Int n) {
    for (Int i = 1; i < n; i++) {
        Wanting one = all[i];
        Int j = i;
        for (; j > 0 && by_q_and_s(&one, all + j - 1) < 0; j--) all[j] = all[j - 1];
        all[j] = one;
    }
}

PART int alike(const Wanting *a, const Wanting *b) { return a->q == b->q && a->s == b->s; }

/* Give rows first … end − 1, which are alike, what their equals have on average. Those that are
   left, which only have the same q and s, are moved to the front of the rest and asked again. */
PART void share(const Work *W, double *y, Wanting *first, Wanting *end) {
    while (end - first > 1) {
        const double *row = raw(W, first->i);
        double total = 0;
        Wanting *other = first, *split = first;
        for (; other < end; other++) {
            if (memcmp(raw(W, other->i), row, sizeof(double) * W->d)) continue;
            Wanting equal = *other;
            *other = *split, *split++ = equal;
            total += y[equal.i];
        }
        for (other = first; other < split; other++) y[other->i] = total / (double)(split - first);
        first = split;
    }
}

/* Rows that are equal to the last bit share their weight. With more active rows than features
   y comes from one formula, so they do already. */
PART void share_among_equals(Work *W, double *y) {
    Int wanting = 0, *some = W->kept + W->n;
    if (W->k > W->d || W->k == 0) return;
    for (Int i = 0; i < W->n; i++) {
        some[wanting] = i;
        wanting += W->c - W->q[i] > 0 || y[i] > 0;
    }
    Wanting few[SMALL], *all = wanting <= SMALL ? few : malloc(sizeof(Wanting) * wanting);
    if (!all) return;
    for (Int j = 0; j < wanting; j++) all[j] = (Wanting){W->q[some[j]], W->s[some[j]], some[j]};
    if (wanting <= SMALL) insertion_sort(all, wanting);
    else qsort(all, wanting, sizeof(Wanting), by_q_and_s);
    for (Int j = 0, end = 0; j < wanting; j = end) {
        while (end < wanting && alike(all + j, all + end)) end++;
        share(W, y, all + j, all + end);
    }
    if (all != few) free(all);
}

/* y of all rows in D. */
FOR_EACH_CPU static void collect(Work *W, double *y) {
    memset(y, 0, sizeof(double) * W->n);
    for (Int j = 0; j < W->k; j++) y[W->A[j]] = larger(0, W->ya[j]);
    share_among_equals(W, y);
    W->last_n = W->n;
}
