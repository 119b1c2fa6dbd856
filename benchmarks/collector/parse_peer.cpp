// The parse step's peer: what a C++ program takes that reads the same lines with simdjson's on-demand parser.
//
// Of each line: the outer object with all its bodies unescaped, the members that have columns, of the request's body
// the last user message, model, stream and the number of messages, of the assembled response the first choice's text,
// id, finish reason and usage. Hashes, contexts, chunk ids and the JSON of what has no column are left out.
//
//     parse_peer FILE...      prints lines, bytes and the best of three passes in processor seconds

#include <simdjson.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using namespace simdjson;

struct Row {
    std::string deployment, parent_deployment, chat_id, project_id, user_id, user_title, trace_id, span_id, parent_span_id;
    std::string uri, time, status, request_body, response_body, assembled_response;
    std::vector<std::string> execution_path;
    std::string question, model, answer, response_id, finish_reason;
    int64_t prompt_tokens = 0, completion_tokens = 0, total_tokens = 0, message_count = 0;
    double price = 0, deployment_price = 0;
    bool stream = false;
};

// A member of another type is no answer; the row keeps what it has.
static void ignore(error_code) {}

static void keep(std::string &place, ondemand::value value) {
    std::string_view text;
    if (!value.get_string().get(text)) place.assign(text);
}

template <typename Each>
static void members(ondemand::value value, Each each) {
    ondemand::object object;
    if (value.get_object().get(object)) return;
    for (auto field : object) {
        std::string_view key;
        if (field.unescaped_key().get(key)) return;
        ondemand::value member;
        if (field.value().get(member)) return;
        each(key, member);
    }
}

static void read_content(ondemand::value content, std::string &place) {
    ondemand::json_type type;
    if (content.type().get(type)) return;
    if (type == ondemand::json_type::string) return keep(place, content);
    if (type != ondemand::json_type::array) return;
    place.clear();
    for (auto part : content.get_array()) {
        ondemand::value value;
        if (part.get(value)) return;
        members(value, [&](std::string_view key, ondemand::value text) {
            std::string_view found;
            if (key == "text" && !text.get_string().get(found)) (place.empty() ? place : place += "\n") += found;
        });
    }
}

static void read_request(ondemand::parser &parser, const padded_string &body, Row &row) {
    ondemand::document document;
    ondemand::value whole;
    if (parser.iterate(body).get(document) || document.get_value().get(whole)) return;
    members(whole, [&](std::string_view key, ondemand::value value) {
        if (key == "model") keep(row.model, value);
        if (key == "stream") ignore(value.get_bool().get(row.stream));
        ondemand::array messages;
        if (key != "messages" || value.get_array().get(messages)) return;
        for (auto element : messages) {
            ondemand::value message;
            if (element.get(message)) return;
            ++row.message_count;
            std::string role, text;
            members(message, [&](std::string_view name, ondemand::value member) {
                if (name == "role") keep(role, member);
                if (name == "content") read_content(member, text);
            });
            if (role == "user") row.question = std::move(text);
        }
    });
}

static void read_answer(ondemand::parser &parser, const padded_string &body, Row &row) {
    ondemand::document document;
    ondemand::value whole;
    if (parser.iterate(body).get(document) || document.get_value().get(whole)) return;
    members(whole, [&](std::string_view key, ondemand::value value) {
        if (key == "id") keep(row.response_id, value);
        if (key == "model") keep(row.model, value);
        if (key == "usage") members(value, [&](std::string_view name, ondemand::value number) {
            if (name == "prompt_tokens") ignore(number.get_int64().get(row.prompt_tokens));
            if (name == "completion_tokens") ignore(number.get_int64().get(row.completion_tokens));
        });
        ondemand::array choices;
        if (key != "choices" || value.get_array().get(choices)) return;
        bool first = true;
        for (auto element : choices) {
            ondemand::value choice;
            if (!first || element.get(choice)) return;
            first = false;
            members(choice, [&](std::string_view name, ondemand::value member) {
                if (name == "finish_reason") keep(row.finish_reason, member);
                if (name == "message" || name == "delta") members(member, [&](std::string_view part, ondemand::value content) {
                    if (part == "content") read_content(content, row.answer);
                });
            });
        }
    });
}

struct Reader {
    ondemand::parser outer, request, answer;

    bool read(const padded_string &line, Row &row) {
        ondemand::document document;
        ondemand::value whole;
        if (outer.iterate(line).get(document) || document.get_value().get(whole)) return false;
        members(whole, [&](std::string_view key, ondemand::value value) {
            if (key == "deployment") keep(row.deployment, value);
            else if (key == "parent_deployment") keep(row.parent_deployment, value);
            else if (key == "assembled_response") keep(row.assembled_response, value);
            else if (key == "execution_path") {
                ondemand::array path;
                if (value.get_array().get(path)) return;
                for (auto element : path) {
                    std::string_view name;
                    if (!element.get_string().get(name)) row.execution_path.emplace_back(name);
                }
            } else members(value, [&](std::string_view name, ondemand::value member) {
                if (key == "chat" && name == "id") keep(row.chat_id, member);
                else if (key == "project" && name == "id") keep(row.project_id, member);
                else if (key == "user") keep(name == "id" ? row.user_id : row.user_title, member);
                else if (key == "trace") {
                    keep(name == "trace_id" ? row.trace_id : name == "core_span_id" ? row.span_id : row.parent_span_id, member);
                } else if (key == "token_usage") {
                    if (name == "prompt_tokens") ignore(member.get_int64().get(row.prompt_tokens));
                    else if (name == "completion_tokens") ignore(member.get_int64().get(row.completion_tokens));
                    else if (name == "total_tokens") ignore(member.get_int64().get(row.total_tokens));
                    else if (name == "price") ignore(member.get_double().get(row.price));
                    else if (name == "deployment_price") ignore(member.get_double().get(row.deployment_price));
                } else if (key == "request") {
                    if (name == "body") keep(row.request_body, member);
                    else if (name == "uri") keep(row.uri, member);
                    else if (name == "time") keep(row.time, member);
                } else if (key == "response") {
                    if (name == "body") keep(row.response_body, member);
                    else if (name == "status") keep(row.status, member);
                }
            });
        });
        if (row.uri.find("/completions") != std::string::npos) {
            read_request(request, padded_string(row.request_body), row);
            read_answer(answer, padded_string(row.assembled_response), row);
        }
        return !row.time.empty();
    }
};

int main(int count, char **names) {
    std::vector<padded_string> lines;
    size_t bytes = 0;
    for (int i = 1; i < count; ++i) {
        std::ifstream file(names[i], std::ios::binary);
        for (std::string line; std::getline(file, line);) {
            bytes += line.size() + 1;
            lines.emplace_back(line);
        }
    }
    double best = 1e9;
    size_t rows = 0, characters = 0;
    for (int pass = 0; pass < 3; ++pass) {
        Reader reader;
        rows = characters = 0;
        const std::clock_t began = std::clock();
        for (const padded_string &line : lines) {
            Row row;
            rows += reader.read(line, row);
            characters += row.question.size() + row.answer.size() + row.response_body.size();
        }
        const double seconds = double(std::clock() - began) / CLOCKS_PER_SEC;
        if (seconds < best) best = seconds;
    }
    std::printf("%zu %zu %zu %.6f %zu\n", lines.size(), rows, bytes, best, characters);
}
