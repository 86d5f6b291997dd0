// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.IpAddress;
import io.weir.limits.IpNetwork;
import io.weir.limits.Names;
import io.weir.limits.policy.IpPrefix;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.PolicyMatch;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads the fields {@code match}, {@code key} and {@code ip_prefix} of a policy. These fields
 * determine the calls that the policy matches, and the calls that share a bucket.
 */
final class MatchReader {
  /** Maximum number of attributes in the match of a policy. */
  private static final int MAX_ATTRIBUTES = 16;

  /** Maximum number of networks of a policy. Weir compares each call with each network. */
  private static final int MAX_NETWORKS = 1_000;

  private final FieldReader fields;

  MatchReader(FieldReader fields) {
    this.fields = fields;
  }

  PolicyMatch match(JsonNode node, String path) {
    if (node.isMissingNode()) {
      return PolicyMatch.ANY;
    }
    if (!node.isObject()) {
      fields.problem(
          path + " must be a mapping with the fields client, endpoint, meter, ip, attributes");
      return PolicyMatch.ANY;
    }
    fields.refuseUnknown(node, path, Set.of("client", "endpoint", "meter", "ip", "attributes"));
    return new PolicyMatch(
        patterns(node.path("client"), path + ".client"),
        patterns(node.path("endpoint"), path + ".endpoint"),
        patterns(node.path("meter"), path + ".meter"),
        networks(node.path("ip"), path + ".ip"),
        attributes(node.path("attributes"), path + ".attributes"));
  }

  private List<String> patterns(JsonNode list, String path) {
    if (list.isMissingNode()) {
      return List.of();
    }
    if (!list.isArray() || list.isEmpty()) {
      fields.problem(path + " must be a list of patterns; omit it to match any value");
      return List.of();
    }
    List<String> patterns = new ArrayList<>();
    for (int i = 0; i < list.size(); i++) {
      String violation =
          list.get(i).isTextual() ? Names.violation(list.get(i).textValue()) : "must be a string";
      if (violation != null) {
        fields.problem(path + "[" + i + "] " + violation);
      } else {
        patterns.add(list.get(i).textValue());
      }
    }
    return patterns;
  }

  private List<IpNetwork> networks(JsonNode list, String path) {
    if (list.isMissingNode()) {
      return List.of();
    }
    if (!list.isArray() || list.isEmpty() || list.size() > MAX_NETWORKS) {
      fields.problem(
          "%s must be a list of 1 to %s networks; omit it to match any address"
              .formatted(path, MAX_NETWORKS));
      return List.of();
    }
    List<IpNetwork> networks = new ArrayList<>();
    for (int i = 0; i < list.size(); i++) {
      IpNetwork network = list.get(i).isTextual() ? IpNetwork.parse(list.get(i).textValue()) : null;
      if (network == null) {
        fields.problem(
            path + "[" + i + "] must be " + IpNetwork.FORM + ", but is " + Shown.of(list.get(i)));
      } else {
        networks.add(network);
      }
    }
    return networks;
  }

  private Map<String, List<String>> attributes(JsonNode node, String path) {
    Map<String, List<String>> attributes = new HashMap<>();
    if (node.isMissingNode()) {
      return attributes;
    }
    if (!node.isObject() || node.isEmpty() || node.size() > MAX_ATTRIBUTES) {
      fields.problem(
          "%s must be a mapping from 1 to %s attributes to lists of patterns for their values"
              .formatted(path, MAX_ATTRIBUTES));
      return attributes;
    }
    for (Map.Entry<String, JsonNode> attribute : node.properties()) {
      String at = path + "['" + Shown.cut(attribute.getKey()) + "']";
      fields.refuseBadName(attribute.getKey(), at + ": the attribute");
      attributes.put(attribute.getKey(), patterns(attribute.getValue(), at));
    }
    return attributes;
  }

  /** Reads the parts of the bucket key. The default is the client. */
  List<KeyPart> key(JsonNode list, String path) {
    if (list.isMissingNode()) {
      return List.of(KeyPart.CLIENT);
    }
    List<KeyPart> parts = new ArrayList<>();
    boolean isGood = list.isArray();
    for (JsonNode part : list) {
      KeyPart known =
          part.isTextual() ? FieldReader.constant(KeyPart.class, part.textValue()) : null;
      isGood &= known != null && !parts.contains(known);
      if (known != null) {
        parts.add(known);
      }
    }
    if (!isGood) {
      fields.problem(
          path
              + " must be a list of client, plan, endpoint, ip, each at most once, or [] for one"
              + " bucket for all calls, but is "
              + Shown.of(list));
    } else if (parts.contains(KeyPart.CLIENT) && parts.contains(KeyPart.PLAN)) {
      fields.problem(
          path + " must not contain plan next to client, because a client has only " + "one plan");
    }
    return parts;
  }

  /**
   * Reads how many leading bits of an address distinguish callers.
   *
   * @param key the parts of the policy's bucket key
   */
  IpPrefix ipPrefix(JsonNode node, String path, List<KeyPart> key) {
    IpPrefix absent = IpPrefix.OF_CALLERS;
    if (node.isMissingNode()) {
      return absent;
    }
    if (!node.isObject()) {
      fields.problem(path + " must be a mapping with the fields ipv4 and ipv6");
      return absent;
    }
    if (!key.contains(KeyPart.IP)) {
      fields.problem(path + " requires a key that contains ip");
    }
    fields.refuseUnknown(node, path, Set.of("ipv4", "ipv6"));
    int problemsBefore = fields.count();
    long ipv4 = bits(node, path, "ipv4", IpAddress.V4_BITS, absent.ipv4());
    long ipv6 = bits(node, path, "ipv6", IpAddress.V6_BITS, absent.ipv6());
    return fields.count() > problemsBefore ? absent : new IpPrefix((int) ipv4, (int) ipv6);
  }

  private long bits(JsonNode node, String path, String field, int most, int absent) {
    return node.has(field) ? fields.integer(node, path, field, 1, most) : absent;
  }
}
