// The whole header in one C++11 unit, callbacks without capture as lambdas; some throw. With IMPLEMENTED_IN_C the
// implementation is an object of the C compiler, built with -fexceptions.
#ifndef IMPLEMENTED_IN_C
#define NPKSD_IMPLEMENTATION
#endif
#include "npksd.h"
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace {

const std::size_t N = 10, M = 2;

int draw(npksd_real *rows, std::size_t count, std::size_t columns, npksd_rng *rng, void *)
{
    for (std::size_t i = 0; i < count * columns; i++)
        rows[i] = npksd_normal(rng);
    return 0;
}

bool throwing = false;
void throw_if_told()
{
    if (throwing)
        throw std::runtime_error("a callback that throws");
}

void mean_of_others(const npksd_real *row, std::size_t m, std::size_t i, npksd_real *t, void *)
{
    throw_if_told();
    t[0] = 0;
    for (std::size_t j = 0; j < m; j++)
        t[0] += j != i ? row[j] : 0;
}

int live = 0;
void *allocate(std::size_t bytes, void *)
{
    throw_if_told();
    live++;
    return std::malloc(bytes);
}
void release(void *block, std::size_t, void *)
{
    live--;
    std::free(block);
}

template <typename Call> bool is_left(Call call)
{
    bool thrown = false;
    throwing = true;
    try {
        call();
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    throwing = false;
    return thrown;
}

bool same(npksd_real a, npksd_real b) { return !(a < b) && !(a > b); }

// An exception that leaves create or step loses no memory; a check or replicates: the tester goes on as before.
bool exceptions(const npksd_real *observed, npksd_options options)
{
    npksd_tester *tester = nullptr;
    npksd_result before, after;
    npksd_worker worker = npksd_worker();
    npksd_real null = 0, again = 0;
    options.summary = NPKSD_SUMMARY_CALLBACK;
    options.summary_fn = mean_of_others;
    options.summary_dim = 1;
    options.allocator.alloc_fn = allocate;
    options.allocator.free_fn = release;
    auto create = [&] { return npksd_tester_create(&tester, N, M, draw, nullptr, &options); };
    auto step = [&] { return npksd_tester_step(tester, SIZE_MAX); };
    auto check = [&] { return npksd_tester_check(tester, observed, &after, nullptr); };
    auto replicate = [&] { return npksd_tester_replicates(tester, &worker, 0, 1, &again); };
    if (!is_left(create) || live != 0 || create() != NPKSD_OK || !is_left(step))
        return false;
    npksd_tester_destroy(tester);
    if (live != 0 || create() != NPKSD_OK || npksd_tester_prepare(tester) != NPKSD_OK
        || replicate() != NPKSD_OK)
        return false;
    null = again;
    bool good = is_left(replicate) && replicate() == NPKSD_OK && same(null, again) && step() == NPKSD_OK
        && check() == NPKSD_OK;
    before = after;
    good = good && is_left(check) && step() == NPKSD_OK
        && npksd_tester_check_end(tester, &after, nullptr) == NPKSD_ERROR_STATE && check() == NPKSD_OK
        && same(before.statistic, after.statistic);
    npksd_tester_destroy(tester);
    return good && live == 0;
}

} // namespace

int main()
{
    std::vector<npksd_real> observed(N * M);
    for (std::size_t i = 0; i < observed.size(); i++)
        observed[i] = static_cast<npksd_real>(i % 7) - 3;
    npksd_options options = npksd_default_options();
    options.fit_rows = 100;
    options.pilot = 5;
    options.replicates = 19;
    options.components = NPKSD_COMPONENT_STEIN | NPKSD_COMPONENT_MMD | NPKSD_COMPONENT_PAIR;
    npksd_result result;
    npksd_sample_fn normal = [](npksd_real *rows, std::size_t count, std::size_t columns,
                                npksd_rng *rng, void *nothing) -> int {
        return draw(rows, count, columns, rng, nothing);
    };
    npksd_status status = npksd_test(observed.data(), N, M, normal, nullptr, &options, &result);
    return status == NPKSD_OK && exceptions(observed.data(), options) ? 0 : 1;
}
