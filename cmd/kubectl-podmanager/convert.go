package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/podmanager/pkg/plugin/cluster"
	"github.com/mycompany/podmanager/pkg/plugin/convert"
	"github.com/mycompany/podmanager/pkg/plugin/output"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// convertOptions are the flags of convert.
type convertOptions struct {
	file, name string
	adopt      bool
	format     output.Format
}

func (p *plugin) convert() *cobra.Command {
	var o convertOptions
	command := &cobra.Command{
		Use:   "convert KIND/NAME... | -f FILE",
		Short: "Print a Deployment, ReplicaSet, StatefulSet or CloneSet as a PodManager",
		Long: `Print a Deployment, a ReplicaSet, a StatefulSet without volumeClaimTemplates or an OpenKruise CloneSet as a PodManager. Comments name
the fields that have no counterpart. Nothing is written to the cluster. If a HorizontalPodAutoscaler, in the same file or in the cluster, scales the
object, replicas is left out. Objects of other kinds in the file are left out, and a warning names them.

With --adopt, convert prints a shell script that hands the running pods over to the PodManager without a restart. Read it before you run it.`,
		Example: "  " + text.Command + " convert -f deployment.yaml > web.yaml\n  " + text.Command + " convert deployment/web --adopt > handover.sh",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			return p.runConvert(cmd.Context(), o, args)
		},
		ValidArgsFunction: p.completeWorkloads,
	}
	flags := command.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "File with the manifests to convert; - is the standard input")
	flags.StringVar(&o.name, "name", "", "Name of the PodManager; without it, the name of the source")
	flags.BoolVar(&o.adopt, "adopt", false, "Instead of the manifest, print a script that hands the running pods over to the PodManager")
	addOutput(command, &o.format)
	return command
}

func (o convertOptions) check(args []string) error {
	switch {
	case len(args) == 0 && o.file == "":
		return errors.New("say what to convert: KIND/NAME, such as deployment/web, or -f FILE")
	case len(args) > 0 && o.file != "":
		return errors.New("give KIND/NAME or -f, not both")
	case o.adopt && o.format != "":
		return errors.New("--adopt prints a script: leave out -o")
	default:
		return nil
	}
}

func (p *plugin) runConvert(ctx context.Context, o convertOptions, args []string) error {
	var file convert.File
	if o.file != "" {
		data, err := p.readFile(o.file)
		if err == nil {
			file, err = convert.Documents(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o.file, err)
		}
		if warning := file.Warning(); warning != "" {
			fmt.Fprintln(p.errOut, "Warning: "+warning)
		}
		if !o.adopt { // no cluster needed
			return p.convertAll(o, file.Objects, file.Autoscalers, make([]*convert.Live, len(file.Objects)))
		}
	}
	workloads, found, err := p.readWorkloads(ctx, file.Objects, args)
	if err != nil {
		return err
	}
	if o.adopt {
		return p.adopt(ctx, o, workloads, found)
	}
	var objects []*unstructured.Unstructured
	var around []*convert.Live
	for _, workload := range found {
		live := workloads.Around(ctx, workload.Unstructured)
		objects, around = append(objects, workload.Unstructured), append(around, &live)
	}
	return p.convertAll(o, objects, nil, around)
}

// readWorkloads reads the live counterparts of the objects of a file. If there are none, it reads the live objects that the arguments name.
func (p *plugin) readWorkloads(ctx context.Context, objects []*unstructured.Unstructured, args []string) (*cluster.Workloads, []cluster.Workload, error) {
	c, err := p.connect()
	if err != nil {
		return nil, nil, err
	}
	workloads, err := c.Workloads()
	if err != nil {
		return nil, nil, err
	}
	if len(objects) == 0 {
		found, err := workloads.Named(ctx, args)
		return workloads, found, err
	}
	var found []cluster.Workload
	for _, object := range objects {
		workload, err := workloads.Same(ctx, object)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, workload)
	}
	return workloads, found, nil
}

// convertAll prints manifests. If one object cannot be converted, it prints nothing.
func (p *plugin) convertAll(o convertOptions, objects, autoscalers []*unstructured.Unstructured, around []*convert.Live) error {
	if o.name != "" && len(objects) > 1 {
		return fmt.Errorf("--name is for one object, and there are %d", len(objects))
	}
	var manifests, names []string
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for i, object := range objects {
		result, err := convert.Convert(object, convert.Options{Name: o.name, Live: around[i], Autoscalers: autoscalers})
		if err != nil {
			return err
		}
		manifest, err := result.Manifest()
		if err != nil {
			return err
		}
		if o.format != "" {
			fmt.Fprintf(p.errOut, "%s: %s\n", result.From, strings.Join(result.Notes, "\n"+result.From+": "))
		}
		manifests, names, list.Items = append(manifests, manifest), append(names, result.FullName()), append(list.Items, *result.Manager)
	}
	switch {
	case o.format == "":
		_, err := io.WriteString(p.out, strings.Join(manifests, "---\n"))
		return err
	case len(list.Items) == 1:
		return o.format.Print(p.out, list.Items[0].Object, names...)
	default:
		return o.format.Print(p.out, list.UnstructuredContent(), names...)
	}
}

// adopt prints the script that hands over the pods of a live object.
func (p *plugin) adopt(ctx context.Context, o convertOptions, workloads *cluster.Workloads, found []cluster.Workload) error {
	if len(found) != 1 {
		return fmt.Errorf("--adopt is for one object, and there are %d", len(found))
	}
	object := found[0].Unstructured
	live := workloads.Around(ctx, object)
	result, err := convert.Convert(object, convert.Options{Name: o.name, Live: &live, KeepReplicas: true})
	if err == nil {
		err = workloads.AddOwned(ctx, object, &live)
	}
	if err != nil {
		return err
	}
	script, err := convert.Adopt(object, result, live, found[0].Resource)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.out, script)
	return err
}

// completeWorkloads completes the Deployments and StatefulSets that have no controller.
func (p *plugin) completeWorkloads(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	c, err := p.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	add := func(kind string, object metav1.Object) {
		name := kind + "/" + object.GetName()
		if metav1.GetControllerOf(object) == nil && strings.HasPrefix(name, typed) && !slices.Contains(args, name) {
			names = append(names, name)
		}
	}
	deployments, err := c.Kube.AppsV1().Deployments(c.Namespace).List(cmd.Context(), metav1.ListOptions{})
	for i := 0; err == nil && i < len(deployments.Items); i++ {
		add("deployment", &deployments.Items[i])
	}
	sets, err := c.Kube.AppsV1().StatefulSets(c.Namespace).List(cmd.Context(), metav1.ListOptions{})
	for i := 0; err == nil && i < len(sets.Items); i++ {
		add("statefulset", &sets.Items[i])
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
