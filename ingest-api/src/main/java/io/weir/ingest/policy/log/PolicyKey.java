// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.weir.topics.catalog.Topics;
import org.apache.kafka.common.TopicPartition;

/**
 * Identifies an object that a change writes: for example one policy, one client, or the enforcement
 * switch.
 *
 * @param kind the kind of object
 * @param name the name, unique within its kind
 */
public record PolicyKey(Kind kind, String name) implements Comparable<PolicyKey> {
  private static final char SEPARATOR = '/';

  /** The enforcement switch, which limits the mode of all policies. */
  public static final PolicyKey ENFORCEMENT = new PolicyKey(Kind.SWITCH, "enforcement");

  /** The kinds of objects. */
  public enum Kind {
    /** A policy. */
    POLICY("policy"),
    /** The settings of one client. */
    CLIENT("client"),
    /** A plan, which lists policies for its clients. */
    PLAN("plan"),
    /**
     * A setting of policy files: {@code default_plan}, {@code unknown_clients} or {@code
     * unmatched_calls}.
     */
    SETTING("setting"),
    /** A switch for all policies, which is not part of policy files. */
    SWITCH("switch"),
    /** A note that a policy file was applied, identified by the file's digest. */
    FILE("file"),
    /** An object of a newer release of Weir. The name of such an object is the record key. */
    UNKNOWN("unknown");

    private final String word;

    Kind(String word) {
      this.word = word;
    }

    /** Returns the name of the kind in records. */
    public String word() {
      return word;
    }
  }

  /** Returns the key of a policy. */
  public static PolicyKey ofPolicy(String name) {
    return new PolicyKey(Kind.POLICY, name);
  }

  /** Returns the key of a plan. */
  public static PolicyKey ofPlan(String name) {
    return new PolicyKey(Kind.PLAN, name);
  }

  /** Returns the key of a setting. */
  public static PolicyKey ofSetting(String name) {
    return new PolicyKey(Kind.SETTING, name);
  }

  /** Returns the key of a client. */
  public static PolicyKey ofClient(String client) {
    return new PolicyKey(Kind.CLIENT, client);
  }

  /** Returns the key of an applied file. */
  public static PolicyKey ofFile(String digest) {
    return new PolicyKey(Kind.FILE, digest);
  }

  /** Returns the partition that contains the records of this object. */
  TopicPartition partition() {
    return new TopicPartition(
        kind == Kind.CLIENT ? Topics.CLIENTS.name() : Topics.POLICIES.name(), 0);
  }

  /** Returns the record key: the name of a client, or the kind and the name of any other object. */
  String recordKey() {
    return kind == Kind.CLIENT || kind == Kind.UNKNOWN ? name : kind.word + SEPARATOR + name;
  }

  /** Returns the object that a record describes. */
  static PolicyKey ofRecord(String topic, String recordKey) {
    if (topic.equals(Topics.CLIENTS.name())) {
      return ofClient(recordKey);
    }
    int separator = recordKey.indexOf(SEPARATOR);
    for (Kind kind : Kind.values()) {
      if (separator > 0
          && kind != Kind.CLIENT
          && kind != Kind.UNKNOWN
          && recordKey.substring(0, separator).equals(kind.word)) {
        return new PolicyKey(kind, recordKey.substring(separator + 1));
      }
    }
    return new PolicyKey(Kind.UNKNOWN, recordKey);
  }

  @Override
  public int compareTo(PolicyKey other) {
    int byKind = kind.compareTo(other.kind);
    return byKind == 0 ? name.compareTo(other.name) : byKind;
  }

  @Override
  public String toString() {
    return kind.word + " " + name;
  }
}
