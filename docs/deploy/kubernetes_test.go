//go:build unix

package deploy_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	machinery "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/redquorum/redlock/quorum"
)

// manifest is the content of kubernetes.yaml.
type manifest struct {
	services []*core.Service
	sets     []*apps.StatefulSet
	configs  []*core.ConfigMap
	budgets  []*policy.PodDisruptionBudget
	networks []*networking.NetworkPolicy
}

// objects decodes kubernetes.yaml into the API's own types. A field that the API doesn't
// have, or has with another type, is an error.
func objects(t *testing.T) manifest {
	t.Helper()
	text, err := os.ReadFile("kubernetes.yaml")
	require.NoError(t, err)
	var m manifest
	for documents := machinery.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return m
		}
		require.NoError(t, err)
		var kind meta.TypeMeta
		require.NoError(t, yaml.Unmarshal(document, &kind))
		switch kind.APIVersion + " " + kind.Kind {
		case "v1 Service":
			m.services = append(m.services, strictly[core.Service](t, document))
		case "v1 ConfigMap":
			m.configs = append(m.configs, strictly[core.ConfigMap](t, document))
		case "apps/v1 StatefulSet":
			m.sets = append(m.sets, strictly[apps.StatefulSet](t, document))
		case "policy/v1 PodDisruptionBudget":
			m.budgets = append(m.budgets, strictly[policy.PodDisruptionBudget](t, document))
		case "networking.k8s.io/v1 NetworkPolicy":
			m.networks = append(m.networks, strictly[networking.NetworkPolicy](t, document))
		default:
			t.Fatalf("nothing decodes a %s %s", kind.APIVersion, kind.Kind)
		}
	}
}

func strictly[T any](t *testing.T, document []byte) *T {
	t.Helper()
	object := new(T)
	require.NoError(t, yaml.UnmarshalStrict(document, object), "%s", document)
	return object
}

func TestKubernetes(t *testing.T) {
	m := objects(t)
	require.Len(t, m.sets, 3)
	require.Len(t, m.services, 3)
	require.Len(t, m.budgets, 1)
	require.Len(t, m.configs, 1)
	require.Len(t, m.networks, 1)
	network := m.networks[0].Spec
	assert.Equal(t, []networking.PolicyType{networking.PolicyTypeIngress, networking.PolicyTypeEgress}, network.PolicyTypes)
	assert.Empty(t, network.Egress)
	require.Len(t, network.Ingress, 1)
	require.Len(t, network.Ingress[0].From, 1)
	require.Len(t, network.Ingress[0].Ports, 1)
	assert.NotEmpty(t, network.Ingress[0].From[0].PodSelector.MatchLabels, "an empty one would let all in")
	guarded, err := meta.LabelSelectorAsSelector(&network.PodSelector)
	require.NoError(t, err)

	one, err := yaml.Marshal(m.sets[0])
	require.NoError(t, err)
	for i, set := range m.sets {
		pod := set.Spec.Template
		assert.EqualValues(t, 1, *set.Spec.Replicas, "a second pod would be a second server at the address")
		assert.Equal(t, apps.OnDeleteStatefulSetStrategyType, set.Spec.UpdateStrategy.Type, "one apply must not restart all servers")
		assert.Equal(t, labels.Set(set.Spec.Selector.MatchLabels), labels.Set(pod.Labels))
		assert.Equal(t, m.services[i].Name, set.Spec.ServiceName)
		assert.Len(t, set.Spec.VolumeClaimTemplates, 1)

		for j, service := range m.services {
			leads := labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
			assert.Equal(t, i == j, leads, "service %s leads to %s: %v", service.Name, set.Name, leads)
			assert.True(t, service.Spec.PublishNotReadyAddresses)
		}
		budget, err := meta.LabelSelectorAsSelector(m.budgets[0].Spec.Selector)
		require.NoError(t, err)
		assert.True(t, budget.Matches(labels.Set(pod.Labels)))

		apart := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		require.Len(t, apart, 1)
		assert.Equal(t, core.LabelHostname, apart[0].TopologyKey)
		selector, err := meta.LabelSelectorAsSelector(apart[0].LabelSelector)
		require.NoError(t, err)
		assert.True(t, selector.Matches(labels.Set(m.sets[(i+1)%3].Spec.Template.Labels)))

		assert.True(t, guarded.Matches(labels.Set(pod.Labels)))
		assert.Equal(t, core.SeccompProfileTypeRuntimeDefault, pod.Spec.SecurityContext.SeccompProfile.Type)
		require.Len(t, pod.Spec.Containers, 1)
		c := pod.Spec.Containers[0]
		assert.Equal(t, network.Ingress[0].Ports[0].Port.String(), c.Ports[0].Name)
		assert.Regexp(t, `^redis:\d+\.\d+\.\d+$`, c.Image, "another version comes only when this file says so")
		limit := c.Resources.Limits[core.ResourceMemory]
		assert.Greater(t, limit.Value(), int64(2*256<<20)-1, "rewriting the append-only file takes memory, too")
		require.NotNil(t, c.LivenessProbe)
		// A drain continues when the server is ready, which must not be before it votes again, even
		// for clients whose clock monitor notices the restart last.
		defaults := defaultsOf(t, quorum.Config{})
		assert.GreaterOrEqual(t, time.Duration(c.ReadinessProbe.InitialDelaySeconds)*time.Second, defaults.MaxTTL+defaults.Lab.ClockEvery)

		other, err := yaml.Marshal(set)
		require.NoError(t, err)
		letter := set.Labels["server"]
		assert.Equal(t, string(one), strings.NewReplacer("redlock-"+letter, "redlock-a", "server: "+letter, "server: a").Replace(string(other)),
			"the servers differ in their letter alone")
	}
	assert.EqualValues(t, 1, m.budgets[0].Spec.MaxUnavailable.IntValue())
}

// The servers start with the settings of the ConfigMap, except for the directory, which is a volume
// there.
func TestKubernetesServers(t *testing.T) {
	text := objects(t).configs[0].Data["redis.conf"]
	var args []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") || words[0] == "dir" {
			continue
		}
		args = append(args, "--"+words[0])
		for _, word := range words[1:] {
			args = append(args, strings.Trim(word, `"`))
		}
	}
	serve(t, args)
}
