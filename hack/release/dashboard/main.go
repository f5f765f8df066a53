package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/hack/test/harness/monitoring"
)

// Grafana uses four scrapes as the shortest interval of a rate.
const (
	scrapeInterval, rateInterval = "2s", "8s"
	step                         = 4 * time.Second
)

type options struct {
	out, cluster string
	duration     time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{}
	flag.StringVar(&o.out, "out", "artifacts/monitoring/dashboard.svg", "file to write")
	flag.StringVar(&o.cluster, "cluster", "podmanager-dashboard", "name of the cluster; an existing cluster of this name is replaced")
	flag.DurationVar(&o.duration, "duration", 4*time.Minute, "how long the rollouts run")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	dashboard, err := monitoring.ReadDashboard(monitoring.DashboardFile)
	if err != nil {
		return err
	}
	folder, err := lab.LogFolder("dashboard")
	if err != nil {
		return err
	}
	cluster, err := lab.Up(ctx, o.cluster, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Down()) }()
	prometheus, stop, err := observe(ctx, cluster)
	defer stop()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := play(ctx, cluster, o.duration); err != nil {
		return err
	}
	panels, err := ask(ctx, prometheus, dashboard, began, time.Now())
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.out, []byte(draw(dashboard.Title, panels)), 0o644); err != nil {
		return err
	}
	fmt.Println("The picture is in", o.out)
	return os.RemoveAll(folder)
}

// observe starts two replicas of the controller, and a Prometheus with our alerts. stop kills them.
func observe(ctx context.Context, cluster *lab.Cluster) (prometheus *monitoring.Prometheus, stop func(), err error) {
	var processes []*lab.Process
	stop = func() {
		for _, p := range processes {
			_ = p.Kill()
		}
	}
	var addresses []string
	for _, name := range []string{"leader", "standby"} {
		ready, cancel := context.WithTimeout(ctx, time.Minute)
		controller, err := cluster.Start(ready, name, "-v", "2", "-object-metrics", "-leader-elect", "-leader-elect-resource-namespace", "podmanager-system")
		cancel()
		if err != nil {
			return nil, stop, err
		}
		processes, addresses = append(processes, controller), append(addresses, controller.Metrics)
	}
	rules, err := os.ReadFile(monitoring.AlertsFile)
	if err != nil {
		return nil, stop, err
	}
	folder := filepath.Join(cluster.Folder, "prometheus")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, stop, err
	}
	prometheus, err = monitoring.Start(ctx, folder, scrapeInterval, rules, addresses...)
	if err != nil {
		return nil, stop, err
	}
	processes = append(processes, prometheus.Process)
	return prometheus, stop, nil
}
