// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import com.google.protobuf.UnknownFieldSet;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.Descriptor;
import io.weir.limits.IpAddress;
import io.weir.limits.Names;
import io.weir.limits.PolicyLimit;
import io.weir.limits.policy.CallFacts;
import io.weir.topics.model.CallEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the descriptors of a request as calls. Accepts every value of an entry, because values come
 * from callers. If Weir refused a request for its values, Envoy could let it pass without a limit.
 * Thread-safe.
 */
final class DescriptorReader {
  /** Maximum number of descriptors of a request. */
  static final int MAX_DESCRIPTORS = 64;

  /**
   * Maximum number of entries of a descriptor; equals the maximum number of attributes of a call.
   */
  static final int MAX_ENTRIES = 64;

  /** The entry in which Envoy sends the caller's address. */
  private static final String REMOTE_ADDRESS = "remote_address";

  /**
   * Number of the field {@code is_negative_hits}, which is newer than the message classes of this
   * build.
   */
  private static final int IS_NEGATIVE_HITS = 4;

  private final Set<String> clientKeys;
  private final boolean givesBack;

  /**
   * Creates a reader.
   *
   * @param clientKeys keys of entries whose value is the name of the client
   * @param givesBack whether clients may give hits back
   */
  DescriptorReader(List<String> clientKeys, boolean givesBack) {
    this.clientKeys = Set.copyOf(clientKeys);
    this.givesBack = givesBack;
  }

  /**
   * A descriptor as a request contains it.
   *
   * @param call the call that represents it; its cost is 1 if it takes no tokens
   * @param isPeek whether to take no tokens and record nothing
   * @param negativeHits number of hits to give back; 0 for none
   */
  record Asked(Call call, boolean isPeek, long negativeHits) {
    /** Returns the same descriptor with another call. */
    Asked of(Call replacement) {
      return new Asked(replacement, isPeek, negativeHits);
    }
  }

  /** Reads all descriptors of a request, in order. */
  List<Asked> read(RateLimitRequest request) throws InvalidRequestException {
    String violation = Names.violation(request.getDomain());
    if (violation != null) {
      throw new InvalidRequestException("domain", violation);
    }
    requireCount("descriptors", request.getDescriptorsCount(), MAX_DESCRIPTORS);
    long hits = Integer.toUnsignedLong(request.getHitsAddend());
    List<Asked> asked = new ArrayList<>(request.getDescriptorsCount());
    for (RateLimitDescriptor descriptor : request.getDescriptorsList()) {
      String path = "descriptors[" + asked.size() + "]";
      asked.add(read(request.getDomain(), descriptor, path, hits == 0 ? 1 : hits));
    }
    return asked;
  }

  private static void requireCount(String field, int count, int max)
      throws InvalidRequestException {
    if (count < 1 || count > max) {
      throw new InvalidRequestException(field, "must be 1 to " + max + ", are " + count);
    }
  }

  private Asked read(String domain, RateLimitDescriptor descriptor, String path, long ofRequest)
      throws InvalidRequestException {
    requireCount(path + ".entries", descriptor.getEntriesCount(), MAX_ENTRIES);
    boolean isNegative = isNegative(descriptor, path);
    long hits =
        descriptor.hasHitsAddend()
            ? hits(descriptor.getHitsAddend().getValue(), path + ".hits_addend")
            : ofRequest;
    PolicyLimit limit = limit(descriptor, path + ".limit");
    List<String> keys = keys(descriptor, path);
    List<String> names = EntryNames.of(keys);
    int client = client(descriptor);
    EndpointName endpoint = new EndpointName(domain);
    Map<String, String> attributes = new HashMap<>();
    attributes.put(Descriptor.DOMAIN, domain);
    attributes.put(Descriptor.KEYS, EntryNames.joined(keys));
    IpAddress ip = null;
    for (int i = 0; i < keys.size(); i++) {
      RateLimitDescriptor.Entry entry = descriptor.getEntries(i);
      attributes.put(names.get(i), entry.getValue());
      if (i == client) {
        endpoint.with(entry.getKey());
      } else {
        endpoint.with(entry.getKey(), entry.getValue());
      }
      if (ip == null && entry.getKey().equals(REMOTE_ADDRESS)) {
        ip = IpAddress.parse(entry.getValue());
      }
    }
    CallFacts facts =
        new CallFacts(
            client < 0 ? domain : EndpointName.nameOf(descriptor.getEntries(client).getValue()),
            endpoint.name(),
            CallEvent.DEFAULT_METER,
            ip,
            attributes);
    boolean takes = hits > 0 && !isNegative;
    return new Asked(
        new Call(facts, takes ? hits : 1, null, null, new Descriptor(names, limit)),
        hits == 0,
        isNegative ? hits : 0);
  }

  private static List<String> keys(RateLimitDescriptor descriptor, String path)
      throws InvalidRequestException {
    List<String> keys = new ArrayList<>(descriptor.getEntriesCount());
    for (RateLimitDescriptor.Entry entry : descriptor.getEntriesList()) {
      String violation = Names.violation(entry.getKey());
      if (violation != null) {
        throw new InvalidRequestException(path + ".entries[" + keys.size() + "].key", violation);
      }
      keys.add(entry.getKey());
    }
    return keys;
  }

  /** Returns the index of the first entry that names a client; −1 if there is none. */
  private int client(RateLimitDescriptor descriptor) {
    for (int i = 0; i < descriptor.getEntriesCount(); i++) {
      RateLimitDescriptor.Entry entry = descriptor.getEntries(i);
      if (clientKeys.contains(entry.getKey()) && !entry.getValue().isEmpty()) {
        return i;
      }
    }
    return -1;
  }

  /** Returns whether hits are given back; if the field is repeated, the last value applies. */
  private boolean isNegative(RateLimitDescriptor descriptor, String path)
      throws InvalidRequestException {
    List<Long> sent = descriptor.getUnknownFields().getField(IS_NEGATIVE_HITS).getVarintList();
    if (sent.isEmpty() || sent.get(sent.size() - 1) == 0) {
      return false;
    }
    String field = path + ".is_negative_hits";
    if (!givesBack) {
      throw new InvalidRequestException(
          field, "is not supported by this node: " + RateLimitSettings.NEGATIVE_HITS + " is off");
    }
    if (descriptor.hasLimit()) {
      throw new InvalidRequestException(
          field, "must not be used together with limit: hits of such a limit are not recorded");
    }
    return true;
  }

  /** Returns a descriptor that gives its hits back. */
  static RateLimitDescriptor negative(RateLimitDescriptor descriptor) {
    return descriptor.toBuilder()
        .mergeUnknownFields(
            UnknownFieldSet.newBuilder()
                .addField(IS_NEGATIVE_HITS, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
                .build())
        .build();
  }

  private static long hits(long unsigned, String field) throws InvalidRequestException {
    if (unsigned < 0 || unsigned > CallEvent.MAX_QUANTITY) {
      throw new InvalidRequestException(
          field,
          "must be at most " + CallEvent.MAX_QUANTITY + ", is " + Long.toUnsignedString(unsigned));
    }
    return unsigned;
  }

  private static @Nullable PolicyLimit limit(RateLimitDescriptor descriptor, String path)
      throws InvalidRequestException {
    if (!descriptor.hasLimit()) {
      return null;
    }
    int unit = descriptor.getLimit().getUnitValue();
    PolicyLimit limit =
        Units.limit(Integer.toUnsignedLong(descriptor.getLimit().getRequestsPerUnit()), unit);
    if (limit == null) {
      throw new InvalidRequestException(path + ".unit", "must be a unit of time, is " + unit);
    }
    return limit;
  }
}
