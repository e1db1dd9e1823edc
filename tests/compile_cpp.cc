// The whole header in one C++11 unit, callbacks without capture as lambdas.
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <vector>

int main()
{
    const std::size_t n = 10, m = 2;
    std::vector<npksd_real> observed(n * m);
    for (std::size_t i = 0; i < observed.size(); i++)
        observed[i] = static_cast<npksd_real>(i % 7) - 3;
    npksd_options options = npksd_default_options();
    options.fit_rows = 100;
    options.pilot = 5;
    options.replicates = 19;
    npksd_result result;
    npksd_sample_fn normal = [](npksd_real *rows, std::size_t count, std::size_t columns,
                                npksd_rng *rng, void *) -> int {
        for (std::size_t i = 0; i < count * columns; i++)
            rows[i] = npksd_normal(rng);
        return 0;
    };
    npksd_status status =
        npksd_test(observed.data(), n, m, normal, nullptr, &options, &result);
    return status == NPKSD_OK ? 0 : 1;
}
