//go:build !race

package sim

// fairCourses is how many courses TestFairCourses plays; the race detector makes each take ten times as long.
const fairCourses uint64 = 3
