// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.kafka;

import javax.security.auth.login.LoginException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.jspecify.annotations.Nullable;

/**
 * Tells a client that Kafka refuses from one that Kafka does not answer, and says what it lacks.
 * Stateless and thread-safe.
 */
public final class KafkaRefusal {
  private static final String SEE = " (docs/operate/install.md, access to Kafka)";

  private KafkaRefusal() {}

  /**
   * Returns whether Kafka refuses the client: trying again does not help until somebody changes its
   * credentials or what it is allowed.
   */
  public static boolean is(Throwable failure) {
    return find(failure) != null;
  }

  private static @Nullable Throwable find(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof AuthorizationException || cause instanceof AuthenticationException) {
        return cause;
      }
    }
    return null;
  }

  /**
   * Returns what a client lacks, in words.
   *
   * @param operation what it wanted to do with a topic, by the name that access control lists have
   *     for it, such as {@code Write}
   * @param otherwise is returned of another failure
   */
  public static String explain(Throwable failure, String operation, @Nullable String otherwise) {
    Throwable refusal = find(failure);
    if (refusal == null) {
      String login = login(failure);
      return login == null ? String.valueOf(otherwise) : login;
    }
    String said = String.valueOf(refusal.getMessage());
    if (refusal instanceof AuthenticationException) {
      return "Kafka does not accept the credentials: " + said + SEE;
    }
    return "Kafka refuses: the principal lacks " + lacking(refusal, operation) + ": " + said + SEE;
  }

  /** Returns why a client has got no credentials, as of an issuer of tokens; null if it has. */
  private static @Nullable String login(Throwable failure) {
    boolean isOfLogin = false;
    String said = "";
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      isOfLogin |= cause instanceof LoginException;
      if (cause.getMessage() != null) {
        said = cause.getMessage();
      }
    }
    // each cause has those below it in its message; the last one is the first word of the fault
    return isOfLogin
        ? "the client has got no credentials for Kafka: "
            + said.replaceFirst("^(\\S+: )+", "")
            + SEE
        : null;
  }

  private static String lacking(Throwable refusal, String operation) {
    if (refusal instanceof TopicAuthorizationException ofTopics) {
      return operation
          + (ofTopics.unauthorizedTopics().isEmpty()
              ? " on a topic"
              : " on the topic " + String.join(", ", ofTopics.unauthorizedTopics()));
    }
    if (refusal instanceof GroupAuthorizationException ofGroup) {
      return "Read on the group " + (ofGroup.groupId() == null ? "" : ofGroup.groupId());
    }
    return refusal instanceof TransactionalIdAuthorizationException
        ? "Write on the transactional id"
        : operation + " on the cluster";
  }
}
