// Command release creates the files of a release, and the bundle for OLM. The same commit and the same version of Go produce the same bytes on any
// machine: nothing in them depends on a clock, a file's mode or owner, or a tool on the PATH.
//
//	release check    fails unless this commit can become the release
//	release pack     creates all its files from the programs and images that make release has compiled, and runs hack/release/attest to sign them
//	release bundle   creates the bundle, from artifacts and the digest of that image
//
// make release and make bundle run it, from the root of the project. artifacts/*.yaml are the source of truth: install.yaml, the chart and the
// bundle are created from them, and only the image, by its digest, and the version are inserted. Additional content of the bundle is in
// bundle.yaml.
//
// The tests whose names begin with TestE2E create a whole release twice: make release-test, and make release-short for one platform.
package main
