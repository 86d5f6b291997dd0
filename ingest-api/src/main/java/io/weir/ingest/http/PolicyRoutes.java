// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.weir.ingest.http.JsonBody.Invalid;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyEdits;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyFollower;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.ingest.policy.log.PolicyLogState;
import io.weir.limits.policy.PolicyMode;
import java.time.Instant;
import java.util.Locale;

/**
 * The routes with which operators read and change policies, settings of clients, and the switch for
 * all policies. A response to a change is sent when the change is in force on this node. Other
 * nodes apply the change within a second. Thread-safe.
 */
final class PolicyRoutes {
  static final String POLICIES = "/v1/policies";
  static final String POLICY = POLICIES + "/<name>";
  static final String CLIENT = "/v1/clients/<name>";
  static final String PLAN = "/v1/plans/<name>";
  static final String SETTING = "/v1/settings/<name>";
  static final String SWITCH = "/v1/switches/enforcement";

  private final PolicyFollower policies;
  private final AdminRoute admin;

  PolicyRoutes(CheckApi.PolicyAdmin admin) {
    this.policies = admin.follower();
    this.admin = new AdminRoute(admin);
  }

  void register(JavalinConfig config) {
    config.routes.get(POLICIES, context -> admin.answer(context, this::list));
    config.routes.put(POLICY, context -> admin.answer(context, this::putPolicy));
    register(config, POLICY, PolicyKey.Kind.POLICY);
    register(config, PLAN, PolicyKey.Kind.PLAN);
    register(config, CLIENT, PolicyKey.Kind.CLIENT);
    register(config, SETTING, PolicyKey.Kind.SETTING);
    config.routes.get(SWITCH, context -> admin.answer(context, this::getSwitch));
    config.routes.put(SWITCH, context -> admin.answer(context, this::putSwitch));
  }

  /** Registers the routes that are common to all kinds of entries. */
  private void register(JavalinConfig config, String path, PolicyKey.Kind kind) {
    config.routes.get(
        path,
        context ->
            admin.answer(context, each -> get(each, new PolicyKey(kind, AdminRoute.name(each)))));
    if (kind != PolicyKey.Kind.POLICY) {
      config.routes.put(
          path,
          context ->
              admin.answer(
                  context,
                  each ->
                      put(
                          each,
                          new PolicyKey(kind, AdminRoute.name(each)),
                          AdminRoute.body(each))));
    }
    config.routes.delete(
        path,
        context ->
            admin.answer(
                context, each -> delete(each, new PolicyKey(kind, AdminRoute.name(each)))));
  }

  private void put(Context context, PolicyKey key, ObjectNode content)
      throws Invalid, RefusedException {
    admin.change(context, key, PolicyEdits.put(key, content, AdminRoute.seen(context)));
  }

  private void delete(Context context, PolicyKey key) throws Invalid, RefusedException {
    admin.change(context, key, PolicyEdits.delete(key, AdminRoute.seen(context)));
  }

  private void list(Context context) {
    PolicyFollower.InForce inForce = policies.inForce();
    PolicyLogState state = inForce.state();
    ObjectNode body = AdminRoute.JSON.createObjectNode();
    body.put("version", state.version());
    body.put("source", inForce.source().word());
    body.put("problem", policies.problem());
    body.put("enforcement", word(state.enforcement()));
    ArrayNode list = body.putArray("policies");
    state.policyEntries().forEach(entry -> list.add(shown(entry)));
    ArrayNode plans = body.putArray("plans");
    for (PolicyEntry entry : state.entries()) {
      if (entry.key().kind() == PolicyKey.Kind.PLAN && !entry.isDeleted()) {
        plans.add(shown(entry).put("name", entry.key().name()));
      }
    }
    body.put("default_plan", inForce.set().clients().defaultPlan());
    body.put("unknown_clients", word(inForce.set().clients().unknown()));
    body.put("unmatched_calls", word(inForce.set().unmatchedCalls()));
    body.put("clients", state.clientEntries().size());
    AdminRoute.write(context, body);
  }

  private void putPolicy(Context context) throws Invalid, RefusedException {
    String name = AdminRoute.name(context);
    ObjectNode policy = AdminRoute.body(context);
    if (!policy.has("name")) {
      policy.put("name", name);
    }
    put(context, PolicyKey.ofPolicy(name), policy);
  }

  private void getSwitch(Context context) {
    ObjectNode body = AdminRoute.JSON.createObjectNode();
    body.put("mode", word(policies.inForce().state().enforcement()));
    PolicyLogState state = policies.inForce().state();
    body.put("version", state.version());
    PolicyEntry entry = state.entry(PolicyKey.ENFORCEMENT);
    if (entry != null) {
      context.header("ETag", AdminRoute.tag(entry));
    }
    AdminRoute.write(context, body);
  }

  private void putSwitch(Context context) throws Invalid, RefusedException {
    JsonNode mode = AdminRoute.body(context).path("mode");
    for (PolicyMode known : PolicyMode.values()) {
      if (mode.isTextual() && mode.textValue().equals(word(known))) {
        admin.change(
            context,
            PolicyKey.ENFORCEMENT,
            PolicyEdits.enforcement(known, AdminRoute.seen(context)));
        return;
      }
    }
    throw Invalid.member("mode", "must be one of enforce, shadow, off");
  }

  private void get(Context context, PolicyKey key) throws Invalid {
    AdminRoute.write(context, shown(admin.entry(context, key)));
  }

  private static ObjectNode shown(PolicyEntry entry) {
    ObjectNode shown = AdminRoute.JSON.createObjectNode();
    shown.put("version", entry.version());
    shown.put("changed_at", Instant.ofEpochMilli(entry.changedAtEpochMillis()).toString());
    shown.put("changed_by", entry.changedBy());
    shown.set(entry.key().kind().word(), entry.content());
    return shown;
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
