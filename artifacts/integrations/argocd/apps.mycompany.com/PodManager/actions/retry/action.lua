-- A revision that was rolled back, has halted or has missed its deadline is tried again when the template changes. A restart is such a
-- change.
local status = obj.status or {}
if status.observedGeneration ~= obj.metadata.generation then
  error("the controller has not seen the last change yet", 0)
end
local hasFailed = status.failedRevision ~= nil and status.failedRevision == status.updateRevision
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Stalled" and condition.status == "True" then
    hasFailed = hasFailed or condition.reason == "RolloutHalted" or condition.reason == "ProgressDeadlineExceeded"
  end
end
if not hasFailed then
  error("no revision was rolled back, has halted or has missed its deadline, so there is none to retry; restart replaces the pods", 0)
end

-- The rest is the action restart.
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
