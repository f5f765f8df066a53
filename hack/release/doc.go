// Command release makes the files of a release, and the bundle for OLM. The same commit and the same Go give the same bytes, whoever
// builds: nothing in them comes from a clock, a file's mode or owner, or a tool on the PATH.
//
//	release check    fails unless this commit can become the release
//	release pack     makes all files of it from the programs and images that make release has compiled, and has hack/release/attest sign them
//	release bundle   makes the bundle, from artifacts and the digest of that image
//
// make release and make bundle run it, from the root of the project. artifacts/*.yaml stay the truth: install.yaml, the chart and the bundle
// are made of them, and only the image, by its digest, and the version are put in. What the bundle says beyond them is in bundle.yaml.
//
// The tests whose names begin with TestE2E make a whole release, twice: make release-test, and make release-short for one platform.
package main
