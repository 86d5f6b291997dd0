// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import io.weir.limits.PolicyLimit;
import io.weir.limits.policy.ApiKeys;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.Clients;
import io.weir.limits.policy.Policy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Checks the references between policies, plans and clients, and that API keys are unique.
 * Stateless and thread-safe.
 */
public final class PolicyReferences {
  /** Maximum number of returned problems. A greater number usually has one common cause. */
  private static final int MAX_PROBLEMS = 100;

  private PolicyReferences() {}

  /** Returns the invalid references and repeated API keys, one sentence each. */
  public static List<String> problems(Collection<Policy> policies, Clients clients) {
    Map<String, Policy> byName = new HashMap<>();
    policies.forEach(policy -> byName.put(policy.name(), policy));
    List<String> problems = new ArrayList<>();
    for (Policy policy : policies) {
      for (String replaced : policy.replaces()) {
        if (!byName.containsKey(replaced) && problems.size() < MAX_PROBLEMS) {
          problems.add(
              "policy '%s'.replaces names '%s', which is not a policy"
                  .formatted(Shown.cut(policy.name()), Shown.cut(replaced)));
        }
      }
    }
    for (Map.Entry<String, Set<String>> plan : new TreeMap<>(clients.plans()).entrySet()) {
      for (String policy : plan.getValue()) {
        if (!byName.containsKey(policy)) {
          problems.add(
              "plans['%s'].policies names '%s', which is not a policy"
                  .formatted(plan.getKey(), policy));
        }
      }
    }
    String defaultPlan = clients.defaultPlan();
    if (defaultPlan != null && !clients.plans().containsKey(defaultPlan)) {
      problems.add("default_plan is '" + defaultPlan + "', which is not a plan");
    }
    Set<ClientSettings> valid = Collections.newSetFromMap(new IdentityHashMap<>());
    clients
        .settings()
        .forEach(
            (client, settings) -> {
              if (problems.size() < MAX_PROBLEMS && !valid.contains(settings)) {
                int before = problems.size();
                addOfClient(client, settings, clients, byName, problems);
                if (problems.size() == before) {
                  valid.add(settings);
                }
              }
            });
    addOfApiKeys(clients.settings(), problems);
    return problems;
  }

  private static void addOfApiKeys(Map<String, ClientSettings> settings, List<String> problems) {
    int keys = ApiKeys.count(settings);
    if (keys > ApiKeys.MAX) {
      problems.add(
          "all clients together must have at most " + ApiKeys.MAX + " api_keys, but have " + keys);
    }
    for (ApiKeys.Repeated repeated : ApiKeys.repeated(settings)) {
      if (problems.size() < MAX_PROBLEMS) {
        problems.add(
            place(repeated.client(), repeated.index())
                + " must differ from "
                + place(repeated.otherClient(), repeated.otherIndex()));
      }
    }
  }

  private static String place(String client, int index) {
    return "clients['" + Shown.cut(client) + "'].api_keys[" + index + "].sha256";
  }

  private static void addOfClient(
      String client,
      ClientSettings settings,
      Clients clients,
      Map<String, Policy> policies,
      List<String> problems) {
    String path = "clients['" + Shown.cut(client) + "']";
    String plan = settings.plan();
    if (plan != null && !clients.plans().containsKey(plan)) {
      problems.add(path + ".plan is '" + plan + "', which is not a plan");
    }
    for (Map.Entry<String, PolicyLimit> own : settings.limits().entrySet()) {
      Policy policy = policies.get(own.getKey());
      String at = path + ".limits['" + Shown.cut(own.getKey()) + "']";
      if (policy == null) {
        problems.add(at + " must name a policy, but there is no policy with this name");
        continue;
      }
      try {
        policy.withLimit(own.getValue());
      } catch (IllegalArgumentException doesNotFit) {
        problems.add(at + " does not fit the policy: " + doesNotFit.getMessage());
      }
    }
  }
}
