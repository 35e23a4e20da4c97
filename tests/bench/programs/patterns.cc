/* SPDX-License-Identifier: MIT */
/*
 * Templates of the standard library, inlined into one another, with much debug information:
 * patterns ROUNDS, of some 8 ms each.
 */
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

static std::vector<std::string> make_words(unsigned int seed)
{
	std::mt19937 random(seed);
	std::vector<std::string> words;

	for (int i = 0; i < 2000; i++) {
		std::ostringstream out;

		out << "word" << std::setw(5) << std::setfill('0') << random() % 99999 << "-"
		    << std::hex << random() % 4096;
		words.push_back(out.str());
	}
	return words;
}

static size_t match(const std::vector<std::string> &words)
{
	static const std::regex patterns[] = {
		std::regex("word0*([1-9][0-9]*)-([a-f]+)"),
		std::regex("(w|o|r|d)+[0-9]{5}-[0-9a-f]?[0-9]+"),
		std::regex("^[a-z]{4}(00|11|22)[0-9]*-"),
	};
	size_t found = 0;

	for (const auto &word : words) {
		std::smatch parts;

		for (const auto &pattern : patterns)
			found += std::regex_search(word, parts, pattern) ? parts.size() : 0;
	}
	return found;
}

static size_t count(const std::vector<std::string> &words)
{
	std::unordered_map<std::string, std::vector<size_t>> by_start;
	std::map<std::string, std::set<std::string>> by_end;

	for (size_t i = 0; i < words.size(); i++) {
		by_start[words[i].substr(0, 6)].push_back(i);
		by_end[words[i].substr(words[i].size() - 2)].insert(words[i]);
	}
	return std::accumulate(by_end.begin(), by_end.end(), by_start.size(),
			       [](size_t sum, const auto &pair) { return sum + pair.second.size(); });
}

static size_t order(std::vector<std::string> words)
{
	std::vector<std::function<bool(const std::string &, const std::string &)>> rules = {
		std::less<std::string>(),
		[](const auto &a, const auto &b) { return a.substr(4) > b.substr(4); },
		[](const auto &a, const auto &b) { return a.back() < b.back(); },
	};

	for (const auto &rule : rules)
		std::stable_sort(words.begin(), words.end(), rule);
	return words.front().size();
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? std::atoi(argv[1]) : 500;
	size_t sum = 0;

	for (int i = 0; i < rounds; i++) {
		std::vector<std::string> words = make_words((unsigned int)i);

		sum += match(words) + count(words) + order(std::move(words));
	}
	std::cout << sum << "\n";
	return 0;
}
