package bounds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// of returns a PodManager with these fields in its template's pod spec.
func of(pod string) string {
	return `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"web"},"spec":{"template":{"spec":{` + pod + `}}}}`
}

func limit(cpu string) string {
	return of(`"containers":[{"name":"app"},{"name":"other","resources":{"limits":{"cpu":` + cpu + `}}}]`)
}

func TestUnmarshal(t *testing.T) {
	const inLimits = "spec.template.spec.containers[1].resources.limits.cpu: "
	tests := map[string]struct{ object, want string }{
		"plain":                      {of(`"containers":[{"name":"app","image":"nginx","args":["1e-999999999"]}]`), ""},
		"a long number":              {limit(`"1e-999999999"`), inLimits + "a quantity whose exponent has more than 2 digits"},
		"a large one":                {limit(`"1E+100"`), inLimits + "a quantity whose exponent has more than 2 digits"},
		"not quoted":                 {limit(`1e300`), inLimits + "a quantity whose exponent has more than 2 digits"},
		"two digits":                 {limit(`"1e-99"`), ""},
		"exa":                        {limit(`"1E"`), ""},
		"many digits":                {limit(`"` + strings.Repeat("1", 65) + `"`), inLimits + "a quantity of more than 64 characters"},
		"as many as there may be":    {limit(`"` + strings.Repeat("0", 64) + `"`), ""},
		"a name with escapes":        {strings.Replace(limit(`"1e-999999999"`), "limits", `limit\u0073`, 1), inLimits + "a quantity whose exponent has more than 2 digits"},
		"in a map":                   {of(`"overhead":{"memory":"1e-1000"}`), "spec.template.spec.overhead.memory: a quantity whose exponent has more than 2 digits"},
		"in a pointer":               {of(`"volumes":[{"emptyDir":{"sizeLimit":"1e-1000"}}]`), "spec.template.spec.volumes[0].emptyDir.sizeLimit: a quantity whose exponent has more than 2 digits"},
		"a key that is no field":     {of(`"elsewhere":{"limits":{"cpu":"1e-999999999"}}`), ""},
		"an annotation":              {`{"metadata":{"annotations":{"limits":"1e-999999999","cpu":"4e12345"}}}`, ""},
		"empty tolerations":          {of(`"tolerations":[` + strings.Repeat("{},", 450_000) + "{}]"), "spec.template.spec.tolerations[29"},
		"empty containers":           {of(`"containers":[` + strings.Repeat("{},", 1000) + "{}]"), "memory"},
		"a deep value":               {`{"elsewhere":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}", "nested more than 100 deep"},
		"a quantity of another kind": {limit(`{"a":"b"}`), "quantities must match"},
		"half of it":                 {`{"spec":{"replicas":`, "malformed JSON at byte 20"},
		"two of them":                {`{} {}`, "malformed JSON at byte 3"},
		"no object":                  {`[]`, "cannot unmarshal array"},
		"nothing":                    {``, "malformed JSON at byte 0"},
		"large, and honest":          {of(`"containers":[` + strings.TrimSuffix(strings.Repeat(container(100), 100), ",") + "]"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			err := Unmarshal([]byte(test.object), &v1.PodManager{})
			if got := fmt.Sprint(err); err != nil && (test.want == "" || !strings.Contains(got, test.want)) || err == nil && test.want != "" {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestShort(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		strings.Repeat("a", maxText):       strings.Repeat("a", maxText),
		strings.Repeat("a", maxText+1):     strings.Repeat("a", maxText) + "...",
		"a" + strings.Repeat("ä", maxText): "a" + strings.Repeat("ä", maxText/2-1) + "...", // a character is never cut in half
	} {
		if got := Short(text); got != want {
			t.Errorf("%q is shortened to %q, want %q", text, got, want)
		}
	}
}

// container returns a container with environment variables, as in a large template.
func container(variables int) string {
	return `{"name":"app","image":"nginx","env":[` + strings.TrimSuffix(strings.Repeat(`{"name":"VARIABLE","value":"something"},`, variables), ",") + `]},`
}

// The largest allowed exponent is cheap to parse. An exponent with one more digit would be cheap, too.
func BenchmarkQuantity(b *testing.B) {
	for b.Loop() {
		_, _ = resource.ParseQuantity("1e-" + strings.Repeat("9", ExponentDigits))
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	data := []byte(of(`"containers":[` + strings.TrimSuffix(container(20), ",") + "]"))
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			_ = Check(data, &v1.PodManager{})
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			_ = Unmarshal(data, &v1.PodManager{})
		}
	})
}
