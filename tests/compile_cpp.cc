// The whole header in one C++11 unit, callbacks without capture as lambdas; one of them throws.
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
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
void mean_of_others(const npksd_real *row, std::size_t m, std::size_t i, npksd_real *t, void *)
{
    if (throwing)
        throw std::runtime_error("a summary that throws");
    t[0] = 0;
    for (std::size_t j = 0; j < m; j++)
        t[0] += j != i ? row[j] : 0;
}

// An exception that leaves a check discards it; the tester answers the next one as before.
bool exceptions(const npksd_real *observed, npksd_options options)
{
    npksd_tester *tester = nullptr;
    npksd_result before, after;
    bool thrown = false;
    options.summary = NPKSD_SUMMARY_CALLBACK;
    options.summary_fn = mean_of_others;
    options.summary_dim = 1;
    if (npksd_tester_create(&tester, N, M, draw, nullptr, &options) != NPKSD_OK
        || npksd_tester_step(tester, SIZE_MAX) != NPKSD_OK
        || npksd_tester_check(tester, observed, &before, nullptr) != NPKSD_OK)
        return false;
    throwing = true;
    try {
        npksd_tester_check(tester, observed, &after, nullptr);
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    throwing = false;
    bool good = thrown && npksd_tester_step(tester, SIZE_MAX) == NPKSD_OK
        && npksd_tester_check_end(tester, &after, nullptr) == NPKSD_ERROR_STATE
        && npksd_tester_check(tester, observed, &after, nullptr) == NPKSD_OK
        && !(before.statistic < after.statistic) && !(before.statistic > after.statistic);
    npksd_tester_destroy(tester);
    return good;
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
