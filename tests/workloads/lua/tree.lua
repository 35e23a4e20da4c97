-- SPDX-License-Identifier: MIT
-- Calls functions in a known tree, in any version from 5.1 on: tests/lua_truth.py has it. Calls are
-- written on the line that names what they call.
local has_5_2 = _VERSION ~= "Lua 5.1"
local load_text = loadstring or load

function spin(count)
	local sum = 0
	for i = 1, count or 400 do
		sum = sum + i % 7
	end
	return sum
end

local function bottom()
	local sum = spin()
	return sum
end

local function recurse(depth)
	if depth == 1 then
		local sum = bottom()
		return sum
	end
	local found = recurse(depth - 1)
	return found
end

local function recursing()
	local found = recurse(40)
	return found
end

local function key(value)
	local sum = spin(150)
	return -value + sum * 0
end

local function by_key(left, right)
	local a = key(left)
	local b = key(right)
	return a < b
end

local function sorting()
	local values = {3, 1, 4, 1, 5, 9, 2, 6}
	table.sort(values, by_key)
end

local function replaced(text)
	local sum = spin()
	return text
end

local function replacing()
	local text = string.gsub("abc", ".", replaced)
	return text
end

-- Metamethods, which the interpreter calls by functions of its own.
local function weigh()
	local sum = spin()
	return sum
end

local Weighed = {}
function Weighed.__add(left, right)
	local sum = weigh()
	return left
end
function Weighed.__lt(left, right)
	local sum = weigh()
	return true
end
function Weighed.__index(object, name)
	local sum = weigh()
	return sum
end
function Weighed.__call(object)
	local sum = weigh()
	return sum
end
function Weighed.__tostring(object)
	local sum = weigh()
	return "weighed"
end
local one, other = setmetatable({}, Weighed), setmetatable({}, Weighed)

local function adding()
	local sum = one + other -- __add
	local is_less = one < other -- __lt
	local read = one.absent -- __index
	local called = one() -- __call
	local text = tostring(one) -- __tostring
	return text
end

-- Methods, fields and globals.
local Class = {}
Class.__index = Class
function Class.made() return setmetatable({}, Class) end
function Class:method()
	local sum = spin()
	return sum
end
function Class.field(count)
	local sum = spin(count)
	return sum
end

local function selecting()
	local object = Class.made()
	local sum = object:method()
	local other_sum = Class.field(400)
	return sum + other_sum
end

local function varied(...)
	local sum = spin(select("#", ...) * 100)
	return sum
end

local function varying()
	local sum = varied(1, 2, 3, 4)
	return sum
end

local function each(limit, i)
	local sum = spin(150)
	if i < limit then
		return i + 1
	end
end

local function iterating()
	for i in each, 4, 0 do
		local sum = bottom()
	end
end

local function gone()
	local sum = spin()
	return sum
end

local function going()
	return gone() -- a tail call
end

local function tail_calling()
	local sum = going()
	return sum
end

-- Errors and their handlers.
local function throwing()
	local sum = spin()
	error("thrown")
end

local function handled(message)
	local sum = spin()
	return message
end

local function rescued()
	local sum = spin()
	return sum
end

local function catching()
	local is_right = pcall(throwing)
	local sum = rescued()
	is_right = xpcall(throwing, handled)
end

local text = load_text("local sum = spin() return sum")
local function evaluating()
	local sum = text()
	return sum
end

-- Coroutines.
local function resumed()
	local sum = spin()
	return sum
end

local function generator()
	while true do
		local sum = resumed()
		coroutine.yield(sum)
		sum = resumed()
	end
end

local function nested()
	local inner = coroutine.create(generator)
	for _ = 1, 3 do
		local _, sum = coroutine.resume(inner) -- generator
		coroutine.yield(sum)
	end
end

local function wrapping()
	local next_value = coroutine.wrap(generator)
	for _ = 1, 4 do
		local sum = next_value() -- generator
	end
end

local function nesting()
	local outer = coroutine.wrap(nested)
	for _ = 1, 3 do
		local sum = outer() -- nested
	end
end

-- Calls by C that are resumed within: none runs them then.
local function guarded()
	local sum = resumed()
	coroutine.yield(sum)
	sum = resumed()
	return sum
end

local function guarding()
	local _, sum = pcall(guarded)
	return sum
end

local function yielding()
	local value = coroutine.wrap(guarding)
	for _ = 1, 2 do
		local sum = value() -- guarding
	end
end

local function finalizer()
	local sum = spin()
end

local function collecting()
	local object = setmetatable({}, {__gc = finalizer})
	object = nil
	collectgarbage() -- finalizer
end

local till = tonumber(arg[1] or "1")
while os.clock() < till do
	recursing()
	sorting()
	replacing()
	adding()
	selecting()
	varying()
	iterating()
	tail_calling()
	catching()
	evaluating()
	wrapping()
	nesting()
	if has_5_2 then
		yielding()
		collecting()
	end
end
