// Package plugintest has what tests of the plugin's packages share: Golden compares lines for people with a file.
package plugintest
