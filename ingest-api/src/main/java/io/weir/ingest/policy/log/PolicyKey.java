// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.weir.topics.catalog.Topics;
import org.apache.kafka.common.TopicPartition;

/**
 * The object of a change: one policy, client or switch, or the note that a file was applied.
 *
 * @param kind the kind of object
 * @param name the name, unique within its kind
 */
public record PolicyKey(Kind kind, String name) implements Comparable<PolicyKey> {
  private static final char SEPARATOR = '/';

  /** The switch that sets the mode of all policies. */
  public static final PolicyKey ENFORCEMENT = new PolicyKey(Kind.SWITCH, "enforcement");

  /** The kinds. */
  public enum Kind {
    /** A policy. */
    POLICY("policy"),
    /** The settings of one client. */
    CLIENT("client"),
    /** A plan: the policies of its clients. */
    PLAN("plan"),
    /**
     * A setting of policy files: {@code default_plan}, {@code unknown_clients}, {@code
     * unmatched_calls}.
     */
    SETTING("setting"),
    /** A setting for all policies together. */
    SWITCH("switch"),
    /** A policy file that was applied, identified by its digest. */
    FILE("file"),
    /** An entry that a newer release of Weir wrote; the name is the key of its records. */
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

  /** Returns the partition of the records of this key. */
  TopicPartition partition() {
    return new TopicPartition(
        kind == Kind.CLIENT ? Topics.CLIENTS.name() : Topics.POLICIES.name(), 0);
  }

  /** Returns the key of the records: a client's name, or the kind and the name. */
  String recordKey() {
    return kind == Kind.CLIENT || kind == Kind.UNKNOWN ? name : kind.word + SEPARATOR + name;
  }

  /** Returns the key of a record. */
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
