#include "support.h"

uint64_t test_seed = 1;
int test_quick = 0;

size_t stride(size_t when_quick) { return test_quick ? when_quick : 1; }

const char *status_name(int status) { return npksd_status_string((npksd_status)status); }

/* ======== bad numbers ======== */

static npksd_real from_bits(uint64_t wide, uint32_t narrow)
{
    npksd_real value;
    if (sizeof value == sizeof wide)
        memcpy(&value, &wide, sizeof value);
    else
        memcpy(&value, &narrow, sizeof value);
    return value;
}

npksd_real not_a_number(void) { return from_bits(UINT64_C(0x7ff8000000000000), 0x7fc00000u); }
npksd_real plus_infinity(void) { return from_bits(UINT64_C(0x7ff0000000000000), 0x7f800000u); }
npksd_real minus_infinity(void) { return from_bits(UINT64_C(0xfff0000000000000), 0xff800000u); }

int finite_bits(const npksd_real *values, size_t count)
{
    const uint64_t wide_mask = UINT64_C(0x7ff0000000000000);
    const uint32_t narrow_mask = 0x7f800000u;
    for (size_t i = 0; i < count; i++) {
        uint64_t wide = 0;
        uint32_t narrow = 0;
        memcpy(sizeof *values == sizeof wide ? (void *)&wide : (void *)&narrow, &values[i],
               sizeof values[i]);
        if ((wide & wide_mask) == wide_mask || (narrow & narrow_mask) == narrow_mask)
            return 0;
    }
    return 1;
}

/* ======== data ======== */

int shows_fault(test_source *source)
{
    source->calls++;
    int bad = source->calls == source->bad_call
        || (source->for_ever && source->bad_call > 0 && source->calls > source->bad_call);
    source->shown += (size_t)bad;
    return bad;
}

/* Counts the call; 1 = it is to give up. A bad number is written over the last of `count`. */
static int apply_fault(void *user_data, npksd_real *numbers, size_t count)
{
    test_source *source = (test_source *)user_data;
    if (!source || !shows_fault(source))
        return 0;
    switch (source->fault) {
    case FAULT_RETURN: return 1;
    case FAULT_NAN: numbers[count - 1] = not_a_number(); break;
    case FAULT_INF: numbers[count - 1] = plus_infinity(); break;
    case FAULT_MINUS_INF: numbers[count - 1] = minus_infinity(); break;
    }
    return 0;
}

int chain_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *source)
{
    for (size_t r = 0; r < count; r++) {
        npksd_real previous = 0;
        for (size_t i = 0; i < m; i++)
            rows[r * m + i] = previous = previous / 2 + npksd_normal(rng);
    }
    return apply_fault(source, rows, count * m);
}

int chain_score(const npksd_real *rows, size_t count, size_t m, npksd_real *scores, void *source)
{
    for (size_t r = 0; r < count; r++) {
        const npksd_real *x = rows + r * m;
        for (size_t i = 0; i < m; i++) {
            npksd_real score = (i > 0 ? x[i - 1] / 2 : 0) - x[i];
            if (i + 1 < m)
                score += (x[i + 1] - x[i] / 2) / 2;
            scores[r * m + i] = score;
        }
    }
    return apply_fault(source, scores, count * m);
}

void sum_of_others(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *unused)
{
    (void)unused;
    t[0] = -row[i];
    for (size_t j = 0; j < m; j++)
        t[0] += row[j];
}

void faulty_sum(const npksd_real *row, size_t m, size_t i, npksd_real *t, void *source)
{
    sum_of_others(row, m, i, t, NULL);
    apply_fault(source, t, 1);
}

void draw_rows(npksd_real *rows, size_t n, size_t m, uint64_t seed)
{
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, seed, 0);
    chain_sample(rows, n, m, &rng, NULL);
}

/* ======== allocator ======== */

static void *heap_alloc(size_t bytes, void *user_data)
{
    test_heap *heap = (test_heap *)user_data;
    if (shows_fault(&heap->asked) || bytes > ((size_t)1 << 30))
        return NULL;
    for (size_t i = 0; i < HEAP_BLOCKS; i++) {
        if (heap->blocks[i])
            continue;
        heap->blocks[i] = malloc(bytes);
        heap->bytes[i] = bytes;
        heap->live += heap->blocks[i] != NULL;
        return heap->blocks[i];
    }
    return NULL;
}

static void heap_free(void *ptr, size_t bytes, void *user_data)
{
    test_heap *heap = (test_heap *)user_data;
    for (size_t i = 0; i < HEAP_BLOCKS; i++) {
        if (!ptr || heap->blocks[i] != ptr)
            continue;
        heap->wrong += heap->bytes[i] != bytes;
        heap->live--;
        heap->blocks[i] = NULL;
        free(ptr);
        return;
    }
    heap->wrong++;
}

npksd_allocator heap_allocator(test_heap *heap)
{
    npksd_allocator allocator;
    allocator.alloc_fn = heap_alloc;
    allocator.free_fn = heap_free;
    allocator.user_data = heap;
    return allocator;
}

/* ======== option variants ======== */

npksd_options small_options(void)
{
    npksd_options options = npksd_default_options();
    options.seed = test_seed;
    options.fit_rows = 190; /* no multiple of SMALL_N */
    options.replicates = SMALL_REPLICATES;
    options.pilot = 9;
    return options;
}

static const struct {
    const char *name, *words;
} variants[] = {
    { "plain", "" },
    { "paper", "gauss scalar stein v scales=1 unscaled pilot=0" }, /* nothing to standardise */
    { "gauss_all", "gauss all" },
    { "auto_all", "all" },
    { "poly", "poly mean_var" },
    { "poly_all", "poly all" },
    { "spline", "spline neighbours" },
    { "spline_none", "spline none basis=4 ridge=0.001" },
    { "rbf", "rbf" },
    { "rbf_all", "rbf all basis=10" },
    { "score_callback", "score_callback" },
    { "summary_callback", "summary_callback" },
    { "imq", "imq" },
    { "scalar", "scalar" },
    { "resample", "resample=2" },
    { "redraw", "resample=5 redraw" },
    { "distinct", "resample=2 distinct" },
    { "redraw_distinct", "resample=2 redraw distinct" },
    { "features", "features=13" },
    { "features_scalar", "features=8 scalar resample=2" },
    { "smooth", "smooth=0.25" },
    { "diagnose", "diagnose" },
    { "diagnose_imq", "diagnose imq resample=2" },
    { "diagnose_redraw", "diagnose resample=2 redraw" },
    { "diagnose_features", "diagnose features=9 resample=2" },
    { "wild", "score_callback wild stein" },
    { "wild_pilotless", "score_callback wild stein v scales=1 pilot=0" },
    { "unscaled", "unscaled bandwidth=2" },
    { "odd_scales", "scales=0.3,1,2.5 uv" },
    { "mirror_alone", "mirror" },
    { "moment_alone", "moment" },
    { "mmd_alone", "mmd" },
    { "margin_alone", "margin" },
    { "pair_and_mmd", "pair mmd" },
    { "imq_moment", "imq moment diagnose" },
    { "early_stop", "stop_after=3" },
};

size_t variant_count(void) { return sizeof variants / sizeof variants[0]; }
const char *variant_name(size_t index) { return variants[index].name; }

npksd_options variant_options(size_t index)
{
    npksd_options options = small_options();
    options.score_fn = chain_score;
    options.summary_fn = sum_of_others;
    options.summary_dim = 1;
    set_options(&options, variants[index].words);
    return options;
}

/* ======== running and comparing ======== */

npksd_status finish(npksd_tester *tester)
{
    npksd_status status;
    do
        status = npksd_tester_step(tester, SIZE_MAX);
    while (status == NPKSD_MORE);
    return status;
}

int same_result(const npksd_result *a, const npksd_result *b)
{
#define SAME(field) (memcmp(&a->field, &b->field, sizeof a->field) == 0)
    return SAME(statistic) && SAME(p_value) && SAME(threshold) && SAME(bandwidth) && SAME(reject)
        && SAME(replicates) && SAME(p_low) && SAME(p_high) && SAME(ksd2) && SAME(out_of_range)
        && SAME(leading) && SAME(flags);
#undef SAME
}

int untouched(const void *memory, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)memory;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != UNTOUCHED)
            return 0;
    return 1;
}

int replay_sample(npksd_real *rows, size_t count, size_t m, npksd_rng *rng, void *source)
{
    replay *stored = (replay *)source;
    if (stored->calls < stored->count)
        memcpy(rows, stored->sets + stored->calls * count * m, count * m * sizeof *rows);
    else
        chain_sample(rows, count, m, rng, NULL);
    stored->calls++;
    return 0;
}

static uint64_t own_next(void *user_data)
{
    caller_rng *own = (caller_rng *)user_data;
    return own->inner.next_fn(own->inner.user_data);
}

static void own_seek(uint64_t stream, void *user_data)
{
    caller_rng *own = (caller_rng *)user_data;
    own->inner = npksd_rng_seeded(&own->state, own->seed, stream);
    own->seeks++;
}

npksd_rng caller_rng_start(caller_rng *own, uint64_t seed, int with_seek)
{
    npksd_rng rng;
    memset(own, 0, sizeof *own);
    own->seed = seed;
    own->inner = npksd_rng_seeded(&own->state, seed, 0);
    rng.next_fn = own_next;
    rng.seek_fn = with_seek ? own_seek : NULL;
    rng.user_data = own;
    return rng;
}
