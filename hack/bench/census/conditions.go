package census

// AllExist is met when there are at least this many pods.
func AllExist(pods int) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool { return t.total() >= pods }
}

// Exactly is met when there are exactly this many pods.
func Exactly(pods int) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool { return t.total() == pods }
}

// AllReady is met when at least this many pods are available.
func AllReady(pods int) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool { return Available(t) >= pods }
}

// Active counts the pods that are not terminating.
func Active(t Tally[PodState]) int { return t.count(func(s PodState) bool { return !s.ending }) }

// Available counts the pods that are ready and not terminating.
func Available(t Tally[PodState]) int {
	return t.count(func(s PodState) bool { return s.ready && !s.ending })
}

// AllGone is met when there is no pod, not even a terminating one.
func AllGone(t Tally[PodState]) bool { return t.total() == 0 }

// AllUpdated is met when exactly this many pods run an image and are ready, and there is no other pod.
func AllUpdated(pods int, image string) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool {
		return t[PodState{image: image, ready: true}] == pods && t.total() == pods
	}
}

// AllReplaced is met under the same conditions as AllUpdated, except that it ignores terminating pods, which may take their time.
func AllReplaced(pods int, image string) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool {
		return t[PodState{image: image, ready: true}] == pods && Active(t) == pods
	}
}

// AllSettled is met when the statuses of this many owners show that everything is done.
func AllSettled(owners int) func(Tally[OwnerState]) bool {
	return func(t Tally[OwnerState]) bool {
		return t.count(func(s OwnerState) bool { return s.settled }) == owners
	}
}

// AllGood is met when the pods of this many owners are known to be good.
func AllGood(owners int) func(Tally[OwnerState]) bool {
	return func(t Tally[OwnerState]) bool {
		return t.count(func(s OwnerState) bool { return s.good }) == owners
	}
}

// AllCounted is met when the statuses of this many owners count the desired pods.
func AllCounted(owners int) func(Tally[OwnerState]) bool {
	return func(t Tally[OwnerState]) bool {
		return t.count(func(s OwnerState) bool { return s.counted }) == owners
	}
}
