// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import io.weir.limits.Names;
import io.weir.topics.model.CallEvent;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;

/**
 * Reads a body that is one JSON object, and describes in words of our own what is wrong with any
 * other body.
 */
final class JsonBody {
  private static final int MAX_NESTING = 32;

  /** Most characters of a received name that are shown in a problem detail. */
  private static final int SHOWN_CHARS = 64;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          // a virtual thread serves one request, so buffers kept per thread would never be reused
          .recyclerPool(JsonRecyclerPools.sharedConcurrentDequePool())
          // the names are chosen by callers; the JVM would keep interned ones forever
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          // which of two clients is billed must not depend on the reader
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(
              StreamReadConstraints.builder().maxNestingDepth(MAX_NESTING).build())
          .build();

  private JsonBody() {}

  /** Thrown if a body is not what the route accepts. */
  static final class Invalid extends Exception {
    private static final long serialVersionUID = 1L;
    private final transient Problem problem;

    Invalid(Problem problem) {
      super(problem.detail(), null, false, false);
      this.problem = problem;
    }

    /** Returns the exception for a member that is missing or wrong. */
    static Invalid member(String member, String rule) {
      return new Invalid(Problem.ofField(ProblemReason.INVALID_MEMBER, member, rule));
    }

    Problem problem() {
      return problem;
    }
  }

  /** Reads the members of an object; the caller enters and leaves the object. */
  interface Members<T> {
    T read(JsonParser json) throws IOException, Invalid;
  }

  static <T> T read(byte[] body, Members<T> members) throws Invalid {
    if (!Utf8.isText(body)) {
      throw notOneObject("it holds bytes that are no UTF-8 text");
    }
    try (JsonParser json = JSON.createParser(body)) {
      try {
        if (json.nextToken() != JsonToken.START_OBJECT) {
          throw notOneObject(json.currentToken() == null ? "it is empty" : "it is something else");
        }
        T read = members.read(json);
        if (json.currentToken() != JsonToken.END_OBJECT) {
          throw notOneObject("it ends before the object does");
        }
        if (json.nextToken() != null) {
          throw notOneObject("something follows the object");
        }
        return read;
      } catch (JsonProcessingException notJson) {
        throw notOneObject(fault(json, notJson));
      }
    } catch (IOException impossible) {
      throw new IllegalStateException("memory does not fail to be read", impossible);
    }
  }

  private static Invalid notOneObject(String fault) {
    return new Invalid(
        Problem.of(
            ProblemReason.INVALID_BODY, "the body must be one JSON object in UTF-8; " + fault));
  }

  private static String fault(JsonParser json, JsonProcessingException notJson) throws IOException {
    if (notJson instanceof JsonEOFException) {
      return "it ends before the object does";
    }
    if (notJson instanceof StreamConstraintsException) {
      return "it is nested more than "
          + MAX_NESTING
          + " deep, or holds a name or a number that is too long";
    }
    // the library reports this only in its message
    if (notJson.getOriginalMessage().startsWith("Duplicate field")) {
      return "it holds the member " + shown(json.currentName()) + " twice";
    }
    JsonLocation at = notJson.getLocation();
    return at == null
        ? "it is not JSON"
        : "it is not JSON at line " + at.getLineNr() + ", column " + at.getColumnNr();
  }

  private static String shown(String name) {
    if (name.length() <= SHOWN_CHARS) {
      return name;
    }
    // a surrogate pair is shown whole or not at all
    int end =
        Character.isHighSurrogate(name.charAt(SHOWN_CHARS - 1)) ? SHOWN_CHARS - 1 : SHOWN_CHARS;
    return name.substring(0, end) + "...";
  }

  /**
   * Handles an unknown member.
   *
   * @param known the known members, in words
   */
  static void unknown(JsonParser json, String member, String known, UnknownMembers mode)
      throws IOException, Invalid {
    if (mode == UnknownMembers.REFUSE) {
      String shown = shown(member);
      throw new Invalid(
          Problem.ofField(
              ProblemReason.UNKNOWN_MEMBER, shown, "is not a member here; known are " + known));
    }
    json.skipChildren();
  }

  static String text(JsonParser json, JsonToken value, String member) throws IOException, Invalid {
    if (value != JsonToken.VALUE_STRING) {
      throw Invalid.member(member, "must be a string");
    }
    return json.getText();
  }

  static String name(JsonParser json, JsonToken value, String member) throws IOException, Invalid {
    String name = text(json, value, member);
    String violation = Names.violation(name);
    if (violation != null) {
      throw Invalid.member(member, violation);
    }
    return name;
  }

  /** Returns an integer from {@code min} to {@link CallEvent#MAX_QUANTITY}, both inclusive. */
  static long units(JsonParser json, JsonToken value, String member, long min)
      throws IOException, Invalid {
    if (value == JsonToken.VALUE_NUMBER_INT
        && json.getNumberType() != JsonParser.NumberType.BIG_INTEGER
        && json.getLongValue() >= min
        && json.getLongValue() <= CallEvent.MAX_QUANTITY) {
      return json.getLongValue();
    }
    throw Invalid.member(
        member, "must be an integer from " + min + " to " + CallEvent.MAX_QUANTITY);
  }
}
