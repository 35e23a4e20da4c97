/* SPDX-License-Identifier: MIT */
/* Exceptions through deep recursion, virtual calls, the standard library: 30 seconds of it. */
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct shape {
	virtual ~shape() = default;
	virtual double area(int depth) const = 0;
};

struct square : shape {
	double side;

	explicit square(double s) : side(s) {}
	double area(int depth) const override
	{
		if (depth == 0)
			throw std::runtime_error("bottom");
		return side * side + area(depth - 1);
	}
};

static unsigned long count_nodes(const std::map<std::string, int> &map, int depth)
{
	std::vector<std::string> keys;

	if (depth == 0)
		return map.size();
	for (const auto &[key, value] : map)
		keys.push_back(key + std::to_string(value * depth));
	return keys.size() + count_nodes(map, depth - 1);
}

static int throw_through(const std::function<int(int)> &next, int depth)
{
	std::string guard(static_cast<size_t>(depth) + 20, 'x'); /* to be destroyed on the way */

	try {
		if (depth == 0)
			throw std::out_of_range(guard);
		return next(depth - 1) + static_cast<int>(guard.size());
	} catch (const std::logic_error &e) {
		if (depth % 7 == 0)
			return static_cast<int>(std::string(e.what()).size());
		throw;
	}
}

int main()
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
	std::function<int(int)> next = [&next](int depth) { return throw_through(next, depth); };
	std::unique_ptr<shape> shapes = std::make_unique<square>(2);
	std::map<std::string, int> map;
	volatile double sum = 0;

	for (int i = 0; i < 50; i++)
		map[std::to_string(i * 7919)] = i;
	while (std::chrono::steady_clock::now() < end) {
		try {
			sum = sum + shapes->area(100);
		} catch (const std::exception &e) {
			sum = sum + static_cast<double>(std::string(e.what()).size());
		}
		sum = sum + throw_through(next, 100);
		sum = sum + static_cast<double>(count_nodes(map, 60));
	}
	return sum < 0;
}
