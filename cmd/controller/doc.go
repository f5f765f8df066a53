// Command controller runs the PodManager controller. README.md is its manual; its code is in package app.
package main
