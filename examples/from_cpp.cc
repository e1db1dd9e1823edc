// From C++: a class as the generator, vectors for the rows, an exception for an error.
//
// The header compiles as C++11; its functions have C linkage. An exception thrown through npksd_test
// would leak its memory, so the callback catches it, keeps it and returns non-zero; test() throws it
// again.
#define NPKSD_IMPLEMENTATION
#include "npksd.h"
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

// Any type with draw(rng) and columns can be tested.
struct Wind {
    static constexpr std::size_t columns = 2;
    npksd_real gusts;
    std::vector<npksd_real> draw(npksd_rng &rng) const
    {
        npksd_real calm = npksd_normal(&rng);
        return {8 + calm, (npksd_real)(calm / 2 + gusts * npksd_normal(&rng))};
    }
};

template <class Source> struct Box {
    const Source *source;
    std::exception_ptr thrown;
};

template <class Source>
int sample(npksd_real *rows, std::size_t count, std::size_t m, npksd_rng *rng, void *user_data)
{
    Box<Source> *box = static_cast<Box<Source> *>(user_data);
    try {
        for (std::size_t r = 0; r < count; r++) {
            std::vector<npksd_real> row = box->source->draw(*rng);
            for (std::size_t i = 0; i < m; i++)
                rows[r * m + i] = row.at(i);
        }
        return 0;
    } catch (...) {
        box->thrown = std::current_exception();
        return 1;
    }
}

template <class Source>
npksd_result test(const std::vector<npksd_real> &rows, const Source &source)
{
    Box<Source> box = {&source, nullptr};
    npksd_result result;
    npksd_status status = npksd_test(rows.data(), rows.size() / Source::columns, Source::columns,
                                     sample<Source>, &box, nullptr, &result);
    if (box.thrown)
        std::rethrow_exception(box.thrown);
    if (status != NPKSD_OK)
        throw std::runtime_error(npksd_status_string(status));
    return result;
}

int main()
{
    Wind recorded_wind = {1}, game_wind = {(npksd_real)1.6};
    std::vector<npksd_real> recorded;
    npksd_rng_state state;
    npksd_rng rng = npksd_rng_seeded(&state, 12, 0);
    for (int r = 0; r < 100; r++)
        for (npksd_real x : recorded_wind.draw(rng))
            recorded.push_back(x);
    try {
        npksd_result same = test(recorded, recorded_wind), other = test(recorded, game_wind);
        std::printf("the same wind: p = %.3f\ngustier wind:  p = %.3f\n",
                    static_cast<double>(same.p_value), static_cast<double>(other.p_value));
        return !same.reject && other.reject ? 0 : 1;
    } catch (const std::exception &problem) {
        std::fprintf(stderr, "from_cpp: %s\n", problem.what());
        return 1;
    }
}
