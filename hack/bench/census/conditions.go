package census

// AllExist holds when there are so many pods, or more.
func AllExist(pods int) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool { return t.total() >= pods }
}

// Exactly holds when there are so many pods, and no more.
func Exactly(pods int) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool { return t.total() == pods }
}

// AllReady holds when so many pods are available, or more.
func AllReady(pods int) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool { return Available(t) >= pods }
}

// Active counts the pods that are not on their way out.
func Active(t Tally[PodState]) int { return t.count(func(s PodState) bool { return !s.ending }) }

// Available counts the pods that are ready and not on their way out.
func Available(t Tally[PodState]) int {
	return t.count(func(s PodState) bool { return s.ready && !s.ending })
}

// AllGone holds when there is no pod, not even one on its way out.
func AllGone(t Tally[PodState]) bool { return t.total() == 0 }

// AllUpdated holds when as many pods as wanted run an image and are ready, and there is no other pod.
func AllUpdated(pods int, image string) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool {
		return t[PodState{image: image, ready: true}] == pods && t.total() == pods
	}
}

// AllReplaced is the same, but for pods that are on their way out: they may take their time.
func AllReplaced(pods int, image string) func(Tally[PodState]) bool {
	return func(t Tally[PodState]) bool {
		return t[PodState{image: image, ready: true}] == pods && Active(t) == pods
	}
}

// AllSettled holds when, by the statuses of so many owners, all is done.
func AllSettled(owners int) func(Tally[OwnerState]) bool {
	return func(t Tally[OwnerState]) bool {
		return t.count(func(s OwnerState) bool { return s.settled }) == owners
	}
}

// AllGood holds when the pods of so many owners are known to be good.
func AllGood(owners int) func(Tally[OwnerState]) bool {
	return func(t Tally[OwnerState]) bool {
		return t.count(func(s OwnerState) bool { return s.good }) == owners
	}
}

// AllCounted holds when the statuses of so many owners speak of the pods that are wanted.
func AllCounted(owners int) func(Tally[OwnerState]) bool {
	return func(t Tally[OwnerState]) bool {
		return t.count(func(s OwnerState) bool { return s.counted }) == owners
	}
}
