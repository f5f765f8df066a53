-- Changes restartAt, so that the controller replaces all pods within the rollout's budget.
local os = require("os")
local layout = "!%Y-%m-%dT%XZ"
local at = os.date(layout)
local last = obj.spec.restartAt
if last ~= nil and at <= last then
  -- A second restart within the same second, or before a restartAt in the future, must count as well: use the first second after it.
  -- There is no library to parse times, so search for that second: times in this format sort as text.
  local from, step = os.time(), 1
  while os.date(layout, from + step) <= last do
    step = step * 2
  end
  while step >= 1 do
    if os.date(layout, from + step) <= last then
      from = from + step
    end
    step = step / 2
  end
  at = os.date(layout, from + 1)
end
obj.spec.restartAt = at
return obj
