package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// The results of a check.
const (
	OK      = "ok"
	Warning = "warning"
	Failure = "failure"
	Unknown = "unknown"
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Says   string `json:"says"`
	Advice string `json:"advice,omitempty"`
}

// FindingsIn returns the findings that the facts allow.
func FindingsIn(f Facts) []Finding {
	findings := []Finding{judgeCRD(f)}
	if findings[0].Result == Failure {
		return findings // without the CRD, no other check makes sense
	}
	findings = append(findings, judgeLease(f))
	if f.ShardCount() > 0 {
		findings = append(findings, judgeShards(f))
	}
	findings = append(findings, judgeControllers(f), judgePolicy(f))
	findings = append(findings, judgeRights(f)...)
	if f.Manager != nil {
		findings = append(findings, judgeObject(f))
		findings = append(findings, judgeConditions(f)...)
		findings = append(findings, judgeResize(f))
		if finding, applies := judgeBudget(f); applies {
			findings = append(findings, finding)
		}
		if finding, applies := judgeSurge(f); applies {
			findings = append(findings, finding)
		}
	}
	return findings
}

// Failed reports whether a finding is a failure, which the user has to act on.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(finding Finding) bool { return finding.Result == Failure })
}

func judgeCRD(f Facts) Finding {
	finding := Finding{Check: "CRD", Result: OK, Says: fmt.Sprintf("PodManagers %s are served by %s (%s)", v1.GroupVersionKind.Version, f.Server, f.ServerVersion)}
	const install = "kubectl apply -f artifacts/crd.yaml"
	var missing []string
	for _, name := range []string{"podmanagers/status", "podmanagers/scale"} {
		if !slices.Contains(f.Resources, name) {
			missing = append(missing, name)
		}
	}
	switch {
	case f.ResourcesError != nil:
		finding.Result, finding.Says = Unknown, "whether "+f.Server+" serves PodManagers is not known: "+f.ResourcesError.Error()
	case !slices.Contains(f.Resources, "podmanagers"):
		finding.Result, finding.Says, finding.Advice = Failure, f.Server+" does not serve PodManagers", install
	case len(missing) > 0:
		finding.Result, finding.Says, finding.Advice = Failure, "the CRD has no "+strings.Join(missing, " and no "), install
	case len(f.Unknown) > 0:
		finding.Result, finding.Advice = Warning, install
		finding.Says = "the CRD and this plugin are of different versions: the CRD has no " + strings.Join(f.Unknown, ", ")
	case f.SchemaError != nil:
		finding.Says += "; its fields could not be compared: " + f.SchemaError.Error()
	}
	return finding
}

func judgeLease(f Facts) Finding {
	finding := Finding{Check: "Leader", Result: OK}
	if f.LeaseError != nil {
		finding.Result, finding.Says = Unknown, "the Lease in namespace "+f.Namespace+" cannot be read: "+f.LeaseError.Error()
		return finding
	}
	if f.Lease == nil || f.Lease.Spec.HolderIdentity == nil || *f.Lease.Spec.HolderIdentity == "" {
		finding.Result, finding.Says = Warning, "no replica holds the Lease "+f.LeaseName()+" in namespace "+f.Namespace+
			": the controller does not run there, runs without -leader-elect, or uses a Lease of another name"
		finding.Advice = "kubectl get pods -n " + f.Namespace
		return finding
	}
	spec := f.Lease.Spec
	finding.Says = fmt.Sprintf("%s holds the Lease", *spec.HolderIdentity)
	if count := f.ShardCount(); count > 0 {
		finding.Says = fmt.Sprintf("a group of replicas, which share %d shards, holds the Lease", count)
	}
	if spec.AcquireTime != nil {
		finding.Says += " for " + text.Age(spec.AcquireTime.Time, f.Now)
	}
	if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return finding
	}
	if silent := f.Now.Sub(spec.RenewTime.Time); silent > time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		finding.Result = Failure
		finding.Says += ", but has not renewed it for " + text.Age(spec.RenewTime.Time, f.Now)
		finding.Advice = "kubectl get pods -n " + f.Namespace
	}
	return finding
}

// judgeControllers checks whether the Deployments in the controller's namespace cover the object. A controller may also run elsewhere.
func judgeControllers(f Facts) Finding {
	finding := Finding{Check: "Controller", Result: OK}
	switch {
	case f.ControllersError != nil:
		finding.Result, finding.Says = Unknown, "Deployments in namespace "+f.Namespace+" cannot be read: "+f.ControllersError.Error()
		return finding
	case len(f.Controllers) == 0 && judgeLease(f).Result == OK:
		finding.Says = "the holder of the Lease runs outside of the cluster, or in a Deployment without the label app.kubernetes.io/name=podmanager; " +
			"its flags are not known"
		return finding
	case len(f.Controllers) == 0:
		finding.Result, finding.Says = Warning, "no Deployment of the controller is in namespace "+f.Namespace+"; the controller may run outside of the cluster"
		finding.Advice = "run make deploy IMG=NAME:TAG, or name the namespace of the controller with --controller-namespace"
		return finding
	}
	var reasons []string
	for _, controller := range f.Controllers {
		why := covers(controller, f.Manager)
		if why == "" && controller.Available == 0 {
			why = "none of its pods is available"
		}
		if why == "" {
			finding.Says = fmt.Sprintf("Deployment %s has %s available", controller.Name, counted(int(controller.Available), "pod"))
			if f.Manager != nil {
				finding.Says += ", and its -namespace and -selector include " + f.Manager.Name
			}
			return finding
		}
		reasons = append(reasons, "Deployment "+controller.Name+": "+why)
	}
	finding.Result, finding.Says = Failure, strings.Join(reasons, "; ")
	finding.Advice = "kubectl get deployments -n " + f.Namespace + " -o wide"
	return finding
}

// covers returns why a controller does not handle a PodManager. It is empty if the controller handles it, or if manager is nil.
func covers(controller Controller, manager *v1.PodManager) string {
	if manager == nil {
		return ""
	}
	namespaces, selectors := valuesOf(controller.Args, "namespace"), valuesOf(controller.Args, "selector")
	if len(namespaces) > 0 && !slices.Contains(namespaces, manager.Namespace) {
		return fmt.Sprintf("-namespace is %s, not %s", strings.Join(namespaces, ", "), manager.Namespace)
	}
	for _, text := range selectors {
		selector, err := labels.Parse(text)
		if err == nil && !selector.Matches(labels.Set(manager.Labels)) {
			return fmt.Sprintf("-selector %s does not select %s", text, manager.Name)
		}
	}
	return ""
}

// valuesOf returns the values of a flag: -name=value, -name value, and the same with two dashes.
func valuesOf(args []string, name string) []string {
	var values []string
	for i, arg := range args {
		flag, value, hasValue := strings.Cut(arg, "=")
		if flag != "-"+name && flag != "--"+name {
			continue
		}
		if !hasValue && i+1 < len(args) {
			value = args[i+1]
		}
		values = append(values, strings.Split(value, ",")...)
	}
	if name == "selector" { // a selector may contain commas
		return []string{strings.Join(values, ",")}[:min(1, len(values))]
	}
	return values
}

func judgeRights(f Facts) []Finding {
	var findings []Finding
	for _, right := range f.Rights {
		finding := Finding{Check: "Right", Result: OK, Says: "you may " + right.String()}
		switch {
		case right.Err != nil:
			finding.Result, finding.Says = Unknown, "whether you may "+right.String()+" is not known: "+right.Err.Error()
		case !right.Allowed:
			finding.Result, finding.Says = Warning, "you may not "+right.String()
			finding.Advice = "needed for " + right.For + "; " + right.Advice(f.User, f.RightsIn)
		}
		findings = append(findings, finding)
	}
	return findings
}

func judgeObject(f Facts) Finding {
	finding := Finding{Check: "Object", Result: OK}
	const advice = "check that a controller runs, and that its flags -namespace and -selector cover the PodManager"
	switch observed := f.Manager.Status.ObservedGeneration; {
	case observed < 1:
		finding.Result, finding.Says, finding.Advice = Failure, "no controller has ever seen "+f.Manager.Name, advice
	case observed != f.Manager.Generation:
		finding.Result, finding.Advice = Warning, advice
		finding.Says = fmt.Sprintf("the controller has seen generation %d of %s, but not yet %d", observed, f.Manager.Name, f.Manager.Generation)
	default:
		finding.Says = fmt.Sprintf("the controller has seen generation %d of %s, which is the latest", observed, f.Manager.Name)
	}
	return finding
}

func judgeResize(f Facts) Finding {
	finding := Finding{Check: "Resize", Result: OK, Says: "pods are never updated in place: spec.updateStrategy does not ask for that"}
	if f.Manager.PodUpdatePolicy() == v1.RecreatePods {
		return finding
	}
	withoutResize := func(c Controller) bool {
		return covers(c, f.Manager) == "" && slices.Equal(valuesOf(c.Args, "resize-and-drain"), []string{"false"})
	}
	if slices.ContainsFunc(f.Controllers, withoutResize) {
		finding.Result, finding.Says = Warning, inplace.WhyNoResize+": a change of CPU or memory needs new pods, and inPlaceGracePeriodSeconds has no effect"
		finding.Advice = "with the chart, set inPlace: true; otherwise, remove the flag, and let the controller patch pods/resize and pods/status"
		return finding
	}
	if f.Resizes {
		finding.Says = "the API server can resize pods in place"
		return finding
	}
	if f.ResizesError != nil {
		finding.Result, finding.Says = Unknown, "whether the API server can resize pods in place is not known: "+f.ResizesError.Error()
		return finding
	}
	finding.Result, finding.Says = Warning, "the API server has no pods/resize: a change of CPU or memory needs new pods"
	finding.Advice = "upgrade the cluster to Kubernetes 1.33 or later"
	return finding
}

// Lines formats the findings.
func Lines(findings []Finding, style text.Style) []string {
	colours := map[string]text.Colour{OK: text.Good, Warning: text.Notable, Failure: text.Bad, Unknown: text.Notable}
	table := text.Table{Columns: []text.Column{{Title: "CHECK"}, {Title: "RESULT"}, {Title: "WHAT"}}}
	for _, finding := range findings {
		table.Add(text.Plainly(finding.Check), text.Cell{Text: finding.Result, Colour: colours[finding.Result]}, text.Plainly(finding.Says))
		if finding.Advice != "" {
			table.Add(text.Cell{}, text.Cell{}, text.Plainly("  "+finding.Advice))
		}
	}
	return table.Lines(style)
}
