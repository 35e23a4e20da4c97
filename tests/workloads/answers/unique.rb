# SPDX-License-Identifier: MIT
# Finds what is new in a list by searching all of it.
def unique(count)
  seen = []
  count.times { |item| seen << item unless seen.include?(item) }
  seen
end

unique(ARGV[0].to_i)
