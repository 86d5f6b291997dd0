// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How one change left one key. A change of several keys has one version and as many entries, which
 * take effect together. Immutable. Contents are kept as JSON text, since a node holds an entry for
 * each client that has settings.
 */
public final class PolicyEntry {
  private final PolicyKey key;
  private final Change change;
  private final long order;
  private final byte @Nullable [] content;
  private final byte @Nullable [] untilThen;

  /**
   * Creates an entry.
   *
   * @param key what was changed
   * @param change where the entry belongs
   * @param order the policies' order in answers, ascending; 0 for other kinds
   * @param content the policy as a policy file has it, or what else is set; null if it was deleted
   * @param untilThen of a policy that is not in force yet when it is changed: the policy that is,
   *     until then; null if there is none
   */
  public PolicyEntry(
      PolicyKey key,
      Change change,
      long order,
      @Nullable JsonNode content,
      @Nullable JsonNode untilThen) {
    this(key, change, order, text(content), text(untilThen));
  }

  private PolicyEntry(
      PolicyKey key,
      Change change,
      long order,
      byte @Nullable [] content,
      byte @Nullable [] untilThen) {
    this.key = key;
    this.change = change;
    this.order = order;
    this.content = content;
    this.untilThen = untilThen;
  }

  private static byte @Nullable [] text(@Nullable JsonNode tree) {
    return tree == null ? null : PolicyEntryCodec.bytes(tree);
  }

  private static @Nullable JsonNode tree(byte @Nullable [] text) {
    return text == null ? null : PolicyEntryCodec.tree(text);
  }

  /**
   * One change. The entries of a change in one topic share it.
   *
   * @param version the version of all policies since the change; at least 1
   * @param parts the number of entries of the change in the entry's topic
   * @param policiesVersion the newest version, this one included, with entries in the topic of
   *     policies; 0 if there is none
   * @param clientsVersion the same of the topic of clients
   * @param atEpochMillis when, by the clock of who made it
   * @param by who, in their own words
   * @param id of the change, unique
   */
  public record Change(
      long version,
      int parts,
      long policiesVersion,
      long clientsVersion,
      long atEpochMillis,
      String by,
      String id) {
    public Change {
      if (version < 1
          || parts < 1
          || Math.max(policiesVersion, clientsVersion) != version
          || Math.min(policiesVersion, clientsVersion) < 0) {
        throw new IllegalArgumentException(
            "version "
                + version
                + ", parts "
                + parts
                + ", policies "
                + policiesVersion
                + ", clients "
                + clientsVersion);
      }
    }
  }

  /** Returns what was changed. */
  public PolicyKey key() {
    return key;
  }

  /** Returns where the entry belongs. */
  public Change change() {
    return change;
  }

  /** Returns the policies' order in answers, ascending; 0 for other kinds. */
  public long order() {
    return order;
  }

  /** Returns what is set, which the caller may modify; null if the change deleted the key. */
  public @Nullable JsonNode content() {
    return tree(content);
  }

  /** Returns what is in force until the content is; null if there is none. */
  public @Nullable JsonNode untilThen() {
    return tree(untilThen);
  }

  /** Returns the content as JSON text, which must not be modified; null if it was deleted. */
  byte @Nullable [] contentText() {
    return content;
  }

  /** Returns whether the content is equal to a tree; the order of members does not matter. */
  boolean hasContent(JsonNode tree) {
    byte[] text = PolicyEntryCodec.bytes(tree);
    // members in another order give a text of the same length
    return content != null
        && content.length == text.length
        && (Arrays.equals(content, text)
            || PolicyEntryCodec.tree(content).equals(PolicyEntryCodec.tree(text)));
  }

  /** Returns an equal entry that shares the text of its content with others. */
  PolicyEntry sharing(byte[] text) {
    return new PolicyEntry(key, change, order, text, untilThen);
  }

  /** Returns an equal entry that shares an equal change with others. */
  PolicyEntry ofChange(Change shared) {
    return new PolicyEntry(key, shared, order, content, untilThen);
  }

  /** Returns the version of all policies since the entry's change. */
  public long version() {
    return change.version();
  }

  /** Returns when the key was changed, by the clock of who changed it. */
  public long changedAtEpochMillis() {
    return change.atEpochMillis();
  }

  /** Returns who changed the key. */
  public String changedBy() {
    return change.by();
  }

  /** Returns the content that is in force at a time; null if none is. */
  public @Nullable JsonNode contentAt(long epochMillis) {
    JsonNode present = content();
    return present != null && PolicyState.effectiveFromMillis(present) > epochMillis
        ? untilThen()
        : present;
  }

  /** Returns whether the change deleted the key. */
  public boolean isDeleted() {
    return content == null;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof PolicyEntry entry
        && key.equals(entry.key)
        && change.equals(entry.change)
        && order == entry.order
        && Arrays.equals(content, entry.content)
        && Arrays.equals(untilThen, entry.untilThen);
  }

  @Override
  public int hashCode() {
    return Objects.hash(key, change, order, Arrays.hashCode(content), Arrays.hashCode(untilThen));
  }

  @Override
  public String toString() {
    return key + " of version " + version() + ": " + content();
  }
}
