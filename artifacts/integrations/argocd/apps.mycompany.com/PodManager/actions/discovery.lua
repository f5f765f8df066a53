local spec, status = obj.spec, obj.status or {}
local strategy = spec.updateStrategy or {}
local partition = strategy.rollingUpdate and strategy.rollingUpdate.partition
local isRolling = strategy.type == nil or strategy.type == "RollingUpdate"
local isHeld = isRolling and partition ~= nil and partition ~= 0 and partition ~= "0%"

local hasFailed = status.failedRevision ~= nil and status.failedRevision == status.updateRevision
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Stalled" and condition.status == "True" then
    hasFailed = hasFailed or condition.reason == "RolloutHalted" or condition.reason == "ProgressDeadlineExceeded"
  end
end
local isObserved = status.observedGeneration == obj.metadata.generation

-- The controller rolls nothing out for a PodManager that is being deleted.
local isDeleted = obj.metadata.deletionTimestamp ~= nil
local isPaused = spec.paused == true
return {
  restart = {disabled = isDeleted},
  pause = {disabled = isDeleted or isPaused},
  resume = {disabled = isDeleted or not isPaused},
  promote = {disabled = isDeleted or not isHeld},
  retry = {disabled = isDeleted or not (isObserved and hasFailed)},
}
