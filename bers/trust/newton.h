/* The Newton method behind simplex.c: one problem of [Eq. nnqp], scaled, from any start to its answer.

   The dual is piecewise quadratic and strongly convex, so a Newton method with an exact line search
   ends after finitely many steps. A step solves for the active rows (yᵢ > 0) only, in as many
   dimensions as there are such rows or features, whichever is less. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIRECT_STEPS 12      /* before the problem is approached through larger s */
#define MOST_STEPS 150
#define COARSE_ROWS 512      /* a sample of so many rows gives a start for all of them */
#define LARGE (16 * COARSE_ROWS)
#define BLOCK 64

typedef long long Int;

typedef struct {
    Int n, d, k;             /* rows, features, active rows */
    Int stride;              /* only every so many rows, while the answer is approached */
    double kappa;            /* s is multiplied by this, while the answer is approached */
    double *s, *b, c;        /* the problem, scaled */
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
    int has_G;
    Int *A;                  /* which rows are active, in order */
    Int *kept;               /* rows of the caller that are in D; as much room again */
    Int steps;
} Work;

/* ---- memory ------------------------------------------------------------------------------- */

static void release(Work *W) {
    free(W->copy); free(W->X); free(W->G); free(W->x); free(W->shift_room); free(W->s); free(W->b); free(W->w); free(W->p); free(W->v); free(W->q);
    free(W->ya); free(W->r); free(W->z); free(W->H); free(W->A); free(W->kept);
}

/* Room for n sources, and for a copy of `rows` of them. */
static int reserve(Work *W, Int n, Int rows, Int d) {
    size_t one = sizeof(double);
    *W = (Work){.d = d, .stride = 1, .kappa = 1};
    W->copy = rows ? malloc(one * (rows * d + 1)) : NULL, W->s = malloc(one * (n + 1)), W->b = malloc(one * (d + 1));
    W->w = malloc(one * (d + 1)), W->v = malloc(one * (d + 1)), W->p = malloc(one * (n + 1));
    W->q = malloc(one * (n + 1)), W->ya = malloc(one * (n + 1)), W->r = malloc(one * (n + 1));
    W->z = malloc(one * (d + 1)), W->x = malloc(one * (d + 1)), W->shift_room = malloc(one * (d + 1)), W->H = malloc(one * (d * d + 1));
    W->X = malloc(one * (d * (d > BLOCK ? d : BLOCK) + 1)), W->G = malloc(one * (d * d + 1));
    W->A = malloc(sizeof(Int) * (n + 1)), W->kept = malloc(sizeof(Int) * (2 * n + 1));
    return (W->copy || !rows) && W->X && W->G && W->x && W->shift_room
        && W->s && W->b && W->w && W->v && W->p && W->q && W->ya && W->r && W->z && W->H
        && W->A && W->kept;
}

/* ---- linear algebra ------------------------------------------------------------------------ */

static inline double dot(const double *a, const double *b, Int n) {
    double sum = 0;
    for (Int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static inline void add(double *a, double scale, const double *b, Int n) {
    for (Int i = 0; i < n; i++) a[i] += scale * b[i];
}

/* H = UᵀU in its upper triangle, with 1 / Uᵢᵢ on the diagonal; 0 if H is not positive definite. */
static inline int cholesky(double *H, Int n) {
    for (Int j = 0; j < n; j++) {
        double *u = H + j * n;
        if (!(u[j] > 0)) return 0;
        u[j] = 1 / sqrt(u[j]);
        for (Int i = j + 1; i < n; i++) u[i] *= u[j];
        for (Int i = j + 1; i < n; i++) add(H + i * n + i, -u[i], u + i, n - i);
    }
    return 1;
}

static inline void solve_cholesky(const double *U, double *b, Int n) {
    for (Int i = 0; i < n; i++) {
        b[i] *= U[i * n + i];
        add(b + i + 1, -b[i], U + i * n + i + 1, n - i - 1);
    }
    for (Int i = n - 1; i >= 0; i--)
        b[i] = (b[i] - dot(U + i * n + i + 1, b + i + 1, n - i - 1)) * U[i * n + i];
}

/* ---- one Newton step ----------------------------------------------------------------------- */

static inline double ridge(const Work *W, Int i) { return W->kappa * W->s[i * W->stride]; }
static inline const double *raw(const Work *W, Int i) { return W->D + i * W->stride * W->d; }

/* x = dᵢ. */
static inline void read_row(const Work *W, Int i, double *x) {
    const double *m = raw(W, i);
    if (W->shift) for (Int j = 0; j < W->d; j++) x[j] = (m[j] - W->shift[j]) * W->scale;
    else memcpy(x, m, sizeof(double) * W->d);
}

/* out[j] = dᵢᵀw for the rows i in `which`, or for all rows. */
static inline void product(const Work *W, const Int *which, Int n, const double *w, double *out) {
    double offset = W->shift ? dot(W->shift, w, W->d) : 0, scale = W->shift ? W->scale : 1;
    if (which) for (Int j = 0; j < n; j++) out[j] = dot(raw(W, which[j]), w, W->d);
    else for (Int j = 0; j < n; j++) out[j] = dot(raw(W, j), w, W->d);
    if (W->shift) for (Int j = 0; j < n; j++) out[j] = (out[j] - offset) * scale;
}

/* z += Σ coefficientⱼ dⱼ over the active rows. */
static inline void add_rows(const Work *W, const double *coefficient, double *z) {
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
static inline void add_outer_products(Work *W) {
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
                W->H[i * d + j] += dot(X + i * BLOCK, X + j * BLOCK, BLOCK);
    }
}

/* Inner products of all rows, upper triangle. */
static inline void fill_G(Work *W) {
    for (Int i = 0; i < W->n; i++) {
        double *x = W->X + i * W->d;
        read_row(W, i, x);
        for (Int j = 0; j <= i; j++) W->G[j * W->n + i] = dot(x, W->X + j * W->d, W->d);
    }
    W->has_G = 1;
}

/* Factor D_A D_Aᵀ + S_A if the active rows are few, else I + D_Aᵀ S_A⁻¹ D_A. */
static inline int factor(Work *W) {
    Int k = W->k, d = W->d;
    double *H = W->H;
    if (k <= d) {
        int kept = W->n <= d && W->stride == 1; /* all inner products fit: find them once */
        if (kept && !W->has_G) fill_G(W);
        for (Int i = 0; i < k; i++) {
            const double *all = W->G + W->A[i] * W->n;
            if (kept) for (Int j = i; j < k; j++) H[i * k + j] = all[W->A[j]];
            else {
                double *x = W->X + i * d;
                read_row(W, W->A[i], x);
                for (Int j = 0; j <= i; j++) H[j * k + i] = dot(x, W->X + j * d, d);
            }
        }
        for (Int i = 0; i < k; i++) H[i * k + i] += ridge(W, W->A[i]);
        return cholesky(H, k);
    }
    memset(H, 0, sizeof(double) * d * d);
    for (Int i = 0; i < d; i++) H[i * d + i] = 1;
    add_outer_products(W);
    return cholesky(H, d);
}

/* Add to ya the solution of (D_A D_Aᵀ + S_A) ya = r. */
static inline void correct(Work *W) {
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
static inline double residual(Work *W) {
    double worst = 0;
    memcpy(W->z, W->b, sizeof(double) * W->d);
    add_rows(W, W->ya, W->z);
    product(W, W->A, W->k, W->z, W->r);
    for (Int j = 0; j < W->k; j++) {
        W->r[j] = W->c - W->r[j] - ridge(W, W->A[j]) * W->ya[j];
        worst = fmax(worst, fabs(W->r[j]));
    }
    return worst;
}

/* v from its own d equations, (I + D_Aᵀ S_A⁻¹ D_A) v = b + c D_Aᵀ S_A⁻¹ 1, and ya from v.
   For the cone, refined once: this keeps the digits of v where b and D_Aᵀya nearly cancel. */
static inline void from_the_dual(Work *W) {
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
static inline int newton_point(Work *W) {
    if (W->k == 0) memcpy(W->v, W->b, sizeof(double) * W->d);
    if (W->k == 0 || !factor(W)) return W->k == 0;
    memset(W->ya, 0, sizeof(double) * W->k);
    int many = W->k > W->d;
    if (many) from_the_dual(W);
    double before = HUGE_VAL, now, noise = W->c;
    if (W->c == 0 || many) now = residual(W);
    else for (Int j = 0; j < W->k; j++) W->r[j] = now = W->c;
    for (Int j = 0; j < W->k; j++) noise += fabs(W->ya[j]) * (W->c == 0);
    noise *= 1e-15;
    if (many && now <= noise) return 1;
    for (; now > noise && now < 0.25 * before; now = residual(W)) {
        before = now;
        correct(W);
    }
    memcpy(W->v, W->z, sizeof(double) * W->d);
    return 1;
}

/* ---- the method ---------------------------------------------------------------------------- */

static inline void choose(Work *W) {
    W->k = 0;
    for (Int i = 0; i < W->n; i++) {
        W->A[W->k] = i;
        W->k += W->c > W->p[i];
    }
}

/* The slope of the dual at w + τ(v − w), and how fast it rises. */
static inline double slope(const Work *W, double tau, double *curvature) {
    double pull = 0, rise = 0, own = 0, steps = 0;
    for (Int i = 0; i < W->n; i++) {
        double step = W->q[i] - W->p[i];
        double slack = fmax(0, W->c - W->p[i] - tau * step);
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
static inline double line_search(const Work *W) {
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
static inline int finished(const Work *W, double tolerance) {
    double largest = 0, least = 0;
    for (Int j = 0; j < W->k; j++) {
        largest = fmax(largest, W->ya[j]);
        least = fmin(least, W->ya[j]);
    }
    if (least < -tolerance * largest) return 0;
    double noise = W->k > W->d ? 0 : 1e-15 * sqrt(dot(W->b, W->b, W->d));
    double most = tolerance * (W->c + sqrt(dot(W->v, W->v, W->d))) + noise;
    Int j = 0;
    for (Int i = 0; i < W->n; i++) {
        if (j < W->k && W->A[j] == i) j++;
        else if (W->c - W->q[i] > most) return 0;
    }
    return 1;
}

/* Newton steps from w, p and A; 1 when the answer is reached, and is then in ya, v and q. */
static inline int descend(Work *W, Int most, double tolerance) {
    for (Int i = 0; i < most; i++) {
        W->steps++;
        if (!newton_point(W)) return 0;
        product(W, NULL, W->n, W->v, W->q);
        if (finished(W, tolerance)) return 1;
        double tau = line_search(W);
        for (Int j = 0; j < W->d; j++) W->w[j] += tau * (W->v[j] - W->w[j]);
        for (Int j = 0; j < W->n; j++) W->p[j] += tau * (W->q[j] - W->p[j]);
        choose(W);
    }
    return 0;
}

static inline void take_newton_point(Work *W) {
    memcpy(W->w, W->v, sizeof(double) * W->d);
    memcpy(W->p, W->q, sizeof(double) * W->n);
    choose(W);
}

/* Directly; if that takes long, through problems with ever smaller s, which are easier. */
static inline int settle(Work *W) {
    double own = W->kappa, least = HUGE_VAL;
    if (descend(W, DIRECT_STEPS, 1e-13)) return 1;
    for (Int i = 0; i < W->n; i++) least = fmin(least, W->s[i * W->stride]);
    for (W->kappa = fmax(own, 0.1 / least); W->kappa > own; W->kappa = fmax(own, W->kappa / 10))
        if (descend(W, 5, 1e-6)) take_newton_point(W);
    return descend(W, MOST_STEPS, 1e-13);
}

/* Add to A the rows outside it that the Newton point leaves wanting; returns how many. */
static inline Int take_in_violators(Work *W, Int *spare, double tolerance) {
    double most = tolerance * (W->c + sqrt(dot(W->v, W->v, W->d)));
    Int j = 0, all = 0;
    for (Int i = 0; i < W->n; i++) {
        int inside = j < W->k && W->A[j] == i;
        j += inside;
        spare[all] = i;
        all += inside || W->c - W->q[i] > most;
    }
    Int found = all - W->k;
    memcpy(W->A, spare, sizeof(Int) * all);
    W->k = all;
    return found;
}

/* Many rows of which few are active: solve for those that may be, then ask all the others. */
static inline int settle_on_few(Work *W) {
    int done = 0;
    Int *spare = malloc(sizeof(Int) * (W->n + 1));
    memcpy(W->v, W->w, sizeof(double) * W->d);
    while (spare && !done && 4 * W->k < W->n) {
        Work few;
        if (reserve(&few, W->k, W->k, W->d)) {
            few.n = W->k, few.c = W->c, few.D = few.copy;
            memcpy(few.b, W->b, sizeof(double) * W->d);
            memcpy(few.w, W->v, sizeof(double) * W->d);
            for (Int j = 0; j < W->k; j++) {
                read_row(W, W->A[j], few.D + j * W->d);
                few.s[j] = W->s[W->A[j]];
            }
            product(&few, NULL, few.n, few.w, few.p);
            choose(&few);
            done = settle(&few);
            W->steps += few.steps;
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
static inline int approach(Work *W) {
    Int n = W->n, stride = 1;
    int done = 0;
    while (n / (16 * stride) >= COARSE_ROWS) stride *= 16;
    memcpy(W->w, W->b, sizeof(double) * W->d);
    for (; stride >= 1; stride /= 16) {
        W->stride = stride, W->n = n / stride, W->kappa = 1.0 / stride;
        product(W, NULL, W->n, W->w, W->p);
        choose(W);
        done = stride == 1 && n >= LARGE ? settle_on_few(W) : settle(W);
        if (done && stride > 1) memcpy(W->w, W->v, sizeof(double) * W->d);
    }
    return done;
}

/* From an earlier answer a: y is a times the best number. */
static inline int resume(Work *W, const double *a) {
    double quadratic = 0, linear = 0;
    W->stride = 1, W->kappa = 1;
    memset(W->w, 0, sizeof(double) * W->d);
    for (Int i = 0; i < W->n; i++) {
        double ai = a[W->kept[i]];
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

/* Rows that are equal to the last bit share their weight. With more active rows than features
   y comes from one formula, so they do already. */
static inline void share_among_equals(Work *W, double *y) {
    Int wanting = 0, *some = W->kept + W->n;
    if (W->k > W->d) return;
    for (Int i = 0; i < W->n; i++) {
        some[wanting] = i;
        wanting += W->c - W->q[i] > 0 || y[i] > 0;
    }
    for (Int j = 0; j < wanting; j++) {
        Int first = some[j], members = 0;
        double total = 0;
        for (Int pass = 0; pass < (members == 1 ? 1 : 2); pass++)
            for (Int l = 0; l < wanting; l++) {
                Int i = some[l];
                if (W->q[i] != W->q[first] || W->s[i] != W->s[first]) continue;
                if (memcmp(raw(W, i), raw(W, first), sizeof(double) * W->d)) continue;
                if (pass == 0) total += y[i], members++;
                else y[i] = total / members;
            }
    }
}

/* y of all rows in D. */
static inline void collect(Work *W, double *y) {
    memset(y, 0, sizeof(double) * W->n);
    for (Int j = 0; j < W->k; j++) y[W->A[j]] = fmax(0, W->ya[j]);
    share_among_equals(W, y);
}
